-- Cancel a snooze for its owner; this wins over any worker until the final dot is authorised.
-- With `scheduled_for`, as from a link in a mail, only that promise is cancelled; without it, whatever the row
-- promises.
UPDATE email_snoozes
SET claimed_at = NULL,
    claimed_by = NULL,
    claim_token = NULL,
    lease_expires_at = NULL,
    inactive = TRUE,
    outcome = 'cancelled',
    finished_at = CURRENT_TIMESTAMP,
    updated_at = CURRENT_TIMESTAMP
WHERE id = :id
  AND user_email = :user_email
  AND outcome IS NULL
  AND (CAST(:scheduled_for AS timestamptz) IS NULL OR COALESCE(scheduled_for, remind_at) = :scheduled_for)
RETURNING id
