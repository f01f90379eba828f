-- The person no longer wants the reminder. Until the final dot is authorised this wins over any worker.
-- A link in a mail speaks for one promise only; the page speaks for the row.
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
