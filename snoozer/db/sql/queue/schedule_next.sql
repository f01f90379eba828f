-- This occurrence is out, the next one is a new promise. Only the holder of the claim may say so.
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
