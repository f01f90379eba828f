-- The probe had nothing to send: the breaker is open again and the next worker that asks gets a probe.
UPDATE circuit_breakers
SET state = 'open',
    probe_token = NULL,
    probe_at = NULL,
    updated_at = clock_timestamp()
WHERE server = :server
  AND probe_token = CAST(:probe_token AS uuid)
