-- The mail server answered. While the breaker is closed that ends the row of failures; once it has opened, only a probe
-- closes it, also one that took longer than the cooldown, so that another one has been given out.
UPDATE circuit_breakers
SET failures = 0,
    state = 'closed',
    opened_at = NULL,
    probe_token = NULL,
    probe_at = NULL,
    updated_at = clock_timestamp()
WHERE server = :server
  AND (state = 'closed' OR CAST(:probe_token AS uuid) IS NOT NULL)
RETURNING state
