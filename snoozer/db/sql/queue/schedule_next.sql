-- The occurrence was sent: promise the next one of a recurring snooze, with fresh attempts; fenced by the claim token.
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
  AND claim_token = :claim_token
RETURNING id
