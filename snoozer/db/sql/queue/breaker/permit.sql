-- Whether a worker may claim now. While the breaker is open none may; after the cooldown this statement gives one
-- worker the probe, and another one if that probe is not reported within a cooldown. A server that refuses everybody is
-- up: about five hundred probes follow each other at once, in search of a message that it accepts. A breaker that an
-- operator tripped gives no probe; the request is noted, which shows that the server is still in use.
WITH registered AS (
    INSERT INTO circuit_breakers (server)
    VALUES (:server)
    ON CONFLICT (server) DO NOTHING
),
probe AS (
    UPDATE circuit_breakers
    SET state = 'half-open',
        probe_token = gen_random_uuid(),
        probe_at = clock_timestamp(),
        updated_at = clock_timestamp()
    WHERE server = :server
      AND tripped_at IS NULL
      AND (
          (
              state = 'open'
              AND opened_at <= clock_timestamp() - CASE
                  WHEN NOT refuses_everybody THEN :cooldown
                  WHEN failures >= 500 THEN :cooldown / 10
                  ELSE INTERVAL '0'
              END
          )
          OR (state = 'half-open' AND probe_at <= clock_timestamp() - :cooldown)
      )
    RETURNING probe_token
),
asked AS (
    UPDATE circuit_breakers
    SET updated_at = clock_timestamp()
    WHERE server = :server
      AND tripped_at IS NOT NULL
      AND updated_at < clock_timestamp() - INTERVAL '1 minute'
)
SELECT
    CASE WHEN probe.probe_token IS NOT NULL THEN 'probe' WHEN breaker.state = 'closed' THEN 'closed' ELSE 'open' END
        AS kind,
    probe.probe_token,
    breaker.failures,
    breaker.refuses_everybody
FROM circuit_breakers AS breaker
LEFT JOIN probe ON TRUE
WHERE breaker.server = :server
