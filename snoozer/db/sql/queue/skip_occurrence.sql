-- The person has this occurrence of what repeats: the next one is a new promise, and no second copy of this one leaves.
-- A worker that holds the row finds its claim gone. A link in a mail speaks for one promise only.
UPDATE email_snoozes
SET claimed_at = NULL,
    claimed_by = NULL,
    claim_token = NULL,
    lease_expires_at = NULL,
    attempts = 0,
    crash_count = 0,
    last_error = NULL,
    last_error_at = NULL,
    remind_at = :remind_at,
    scheduled_for = NULL,
    updated_at = CURRENT_TIMESTAMP
WHERE id = :id
  AND user_email = :user_email
  AND outcome IS NULL
  AND COALESCE(scheduled_for, remind_at) = :scheduled_for
RETURNING id
