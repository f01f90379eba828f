-- Cancel many snoozes for their owner, as `cancel` does one; `lock_chosen` has locked them.
-- With `unchanged_since`, only those that an act on many left as they are.
UPDATE email_snoozes
SET claimed_at = NULL,
    claimed_by = NULL,
    claim_token = NULL,
    lease_expires_at = NULL,
    inactive = TRUE,
    outcome = 'cancelled',
    finished_at = CURRENT_TIMESTAMP,
    updated_at = CURRENT_TIMESTAMP
WHERE id = ANY(:ids)
  AND user_email = :user_email
  AND outcome IS NULL
  AND (CAST(:unchanged_since AS timestamptz) IS NULL OR updated_at = :unchanged_since)
RETURNING id, message_id
