-- Record failed deliveries: the error, the attempts used and the delay before the next claim; fenced by the claim token.
-- A row is retired when its attempts are exhausted, the failure is permanent, or its promise is older than `retry_for`.
-- Rows that another transaction has locked are skipped: they and claims no longer owned are missing from the result.
WITH failed AS MATERIALIZED (
    SELECT
        snooze.id,
        failure.error,
        failure.attempts_used,
        failure.delay,
        failure.permanent
            OR snooze.attempts + failure.attempts_used >= snooze.max_attempts
            OR COALESCE(snooze.scheduled_for < CURRENT_TIMESTAMP - failure.retry_for, FALSE) AS retires
    FROM unnest(
        CAST(:ids AS bigint[]),
        CAST(:claim_tokens AS uuid[]),
        CAST(:errors AS text[]),
        CAST(:attempts_used AS int[]),
        CAST(:delays AS interval[]),
        CAST(:permanents AS boolean[]),
        CAST(:retry_for AS interval[])
    ) AS failure (id, claim_token, error, attempts_used, delay, permanent, retry_for)
    JOIN email_snoozes AS snooze ON snooze.id = failure.id
    WHERE snooze.claim_token = failure.claim_token
    FOR NO KEY UPDATE OF snooze SKIP LOCKED
)
UPDATE email_snoozes AS snooze
SET claimed_at = NULL,
    claimed_by = NULL,
    claim_token = NULL,
    lease_expires_at = NULL,
    attempts = snooze.attempts + failed.attempts_used,
    last_error = failed.error,
    last_error_at = CURRENT_TIMESTAMP,
    remind_at = GREATEST(snooze.remind_at, CURRENT_TIMESTAMP + failed.delay),
    inactive = failed.retires,
    outcome = CASE WHEN failed.retires THEN 'retired' END,
    finished_at = CASE WHEN failed.retires THEN CURRENT_TIMESTAMP END,
    updated_at = CURRENT_TIMESTAMP
FROM failed
WHERE snooze.id = failed.id
RETURNING snooze.id, failed.retires
