-- The mail server answered. While the breaker is closed that ends the row of failures;
-- once it has opened, only the holder of the probe closes it.
UPDATE circuit_breakers
SET failures = 0,
    state = 'closed',
    opened_at = NULL,
    probe_token = NULL,
    probe_at = NULL,
    updated_at = clock_timestamp()
WHERE server = :server
  AND (state = 'closed' OR probe_token = CAST(:probe_token AS uuid))
RETURNING state
