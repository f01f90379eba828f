-- An operator trips the breaker: nothing is sent by this mail server, and no probe is tried, until it is reset. No row
-- if it is tripped already, or unknown.
UPDATE circuit_breakers
SET state = 'open',
    opened_at = clock_timestamp(),
    away_since = COALESCE(away_since, clock_timestamp()),
    refuses_everybody = FALSE,
    probe_token = NULL,
    probe_at = NULL,
    tripped_at = clock_timestamp(),
    tripped_by = :actor,
    trip_reason = :reason,
    updated_at = clock_timestamp()
WHERE server = :server
  AND tripped_at IS NULL
RETURNING server
