-- The mail server worked: reset the failures of a closed breaker. Only a probe closes an open breaker, even a probe
-- that took longer than the cooldown, unless an operator has tripped the breaker since.
UPDATE circuit_breakers
SET failures = 0,
    state = 'closed',
    opened_at = NULL,
    away_since = NULL,
    last_success_at = clock_timestamp(),
    closed_at = CASE WHEN state = 'closed' THEN closed_at ELSE clock_timestamp() END,
    refuses_everybody = FALSE,
    probe_token = NULL,
    probe_at = NULL,
    updated_at = clock_timestamp()
WHERE server = :server
  AND tripped_at IS NULL
  AND (state = 'closed' OR CAST(:probe_token AS uuid) IS NOT NULL)
RETURNING state
