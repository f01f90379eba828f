-- name: fail
-- Record consecutive failures of the mail server. The breaker opens at the threshold, or again when a probe failed.
-- refuses_everybody says why it opened: the server refused the messages of many recipients in a row.
UPDATE circuit_breakers
SET failures = LEAST(failures, 1000000) + :failures,
    last_failure = :reason,
    last_failure_at = clock_timestamp(),
    state = CASE
        WHEN probe_token = CAST(:probe_token AS uuid) THEN 'open'
        WHEN state = 'closed' AND LEAST(failures, 1000000) + :failures >= :threshold THEN 'open'
        ELSE state
    END,
    opened_at = CASE
        WHEN probe_token = CAST(:probe_token AS uuid) THEN clock_timestamp()
        WHEN state = 'closed' AND LEAST(failures, 1000000) + :failures >= :threshold THEN clock_timestamp()
        ELSE opened_at
    END,
    away_since = CASE
        WHEN state = 'closed' AND LEAST(failures, 1000000) + :failures >= :threshold THEN clock_timestamp()
        ELSE away_since
    END,
    refuses_everybody = CASE
        WHEN probe_token = CAST(:probe_token AS uuid) OR state = 'closed' THEN :refuses_everybody
        ELSE refuses_everybody
    END,
    probe_token = CASE WHEN probe_token = CAST(:probe_token AS uuid) THEN NULL ELSE probe_token END,
    probe_at = CASE WHEN probe_token = CAST(:probe_token AS uuid) THEN NULL ELSE probe_at END,
    updated_at = clock_timestamp()
WHERE server = :server
RETURNING state

-- name: lock
-- The state of a breaker, for an act of an operator; locked until the transaction ends.
SELECT state, failures, opened_at, tripped_at
FROM circuit_breakers
WHERE server = :server
FOR NO KEY UPDATE

-- name: note
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

-- name: reset
-- An operator closes the breaker, tripped or not: workers send by this mail server again, at once. No row if it is
-- unknown, or closed without failures. `closed_at` says that the server was away, which the stop of an operator does not.
UPDATE circuit_breakers
SET state = 'closed',
    failures = 0,
    opened_at = NULL,
    away_since = NULL,
    closed_at = CASE
        WHEN away_since < tripped_at - INTERVAL '1 second' OR tripped_at IS NULL THEN clock_timestamp()
        ELSE closed_at
    END,
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

-- name: return_probe
-- The probe had nothing to send: the breaker is open again and the next worker that asks gets a probe.
UPDATE circuit_breakers
SET state = 'open',
    probe_token = NULL,
    probe_at = NULL,
    updated_at = clock_timestamp()
WHERE server = :server
  AND probe_token = CAST(:probe_token AS uuid)

-- name: succeed
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

-- name: trip
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
