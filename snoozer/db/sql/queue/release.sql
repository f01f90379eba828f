-- Record a failed delivery: the error, the attempts used and the delay before the next claim; fenced by the claim
-- token.
-- The row is retired when its attempts are exhausted or the failure is permanent; that predicate is repeated three
-- times, because SET cannot refer to a computed column.
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
