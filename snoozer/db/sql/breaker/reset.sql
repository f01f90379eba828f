-- An operator closes the breaker, tripped or not: workers send by this mail server again, at once. No row if it is
-- unknown, or closed without failures.
UPDATE circuit_breakers
SET state = 'closed',
    failures = 0,
    opened_at = NULL,
    away_since = NULL,
    closed_at = clock_timestamp(),
    refuses_everybody = FALSE,
    probe_token = NULL,
    probe_at = NULL,
    tripped_at = NULL,
    tripped_by = NULL,
    trip_reason = NULL,
    updated_at = clock_timestamp()
WHERE server = :server
  AND (state <> 'closed' OR failures > 0)
RETURNING server
