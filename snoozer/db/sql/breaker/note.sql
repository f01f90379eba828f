-- Note how many seconds ago the mail server last worked, and last failed, whatever the breaker's state is; nothing else
-- changes. NULL leaves a time as it is, and so does an earlier time. No row while another worker notes it.
WITH known AS MATERIALIZED (
    SELECT server
    FROM circuit_breakers
    WHERE server = :server
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE circuit_breakers AS breaker
SET last_success_at = GREATEST(
        last_success_at, clock_timestamp() - CAST(:succeeded_ago AS double precision) * INTERVAL '1 second'
    ),
    last_failure_at = GREATEST(
        last_failure_at, clock_timestamp() - CAST(:failed_ago AS double precision) * INTERVAL '1 second'
    )
FROM known
WHERE breaker.server = known.server
RETURNING breaker.server
