-- A delivery failed. Write down why, count what it spent, come back after a delay,
-- and retire the row when its attempts are spent or the failure is permanent.
UPDATE email_snoozes
SET claimed_at = NULL,
    claimed_by = NULL,
    claim_token = NULL,
    lease_expires_at = NULL,
    attempts = attempts + :attempts_used,
    last_error = :error,
    last_error_at = CURRENT_TIMESTAMP,
    remind_at = GREATEST(remind_at, CURRENT_TIMESTAMP + :delay),
    inactive = :permanent OR attempts + :attempts_used >= max_attempts,
    outcome = CASE WHEN :permanent OR attempts + :attempts_used >= max_attempts THEN 'retired' END,
    finished_at = CASE WHEN :permanent OR attempts + :attempts_used >= max_attempts THEN CURRENT_TIMESTAMP END,
    updated_at = CURRENT_TIMESTAMP
WHERE id = :id
  AND claim_token = :claim_token
RETURNING outcome
