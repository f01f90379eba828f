-- Mail servers: how each breaker stands, since when, when the server last worked and last failed, and why.
SELECT
    server,
    state,
    failures,
    clock_timestamp() - CASE WHEN state <> 'closed' THEN COALESCE(away_since, opened_at) END AS away_for,
    clock_timestamp() - last_success_at AS worked_ago,
    clock_timestamp() - last_failure_at AS failed_ago,
    tripped_at IS NOT NULL AS tripped,
    regexp_replace(last_failure, '[^\s<>(),;:@]*@[^\s<>(),;@]*', '…@…', 'g') AS last_failure
FROM circuit_breakers
ORDER BY state = 'closed', server
LIMIT 50
