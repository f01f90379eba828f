-- name: check_writable
-- Raise an error (25006) if the server is read-only; locks no row.
SELECT 1
FROM workers
WHERE FALSE
FOR NO KEY UPDATE

-- name: disabled_guards
-- Constraints and triggers that ought to be in force and are missing, not validated or disabled, with which of these.
SELECT wanted.table_name, wanted.name, COALESCE(CASE WHEN NOT found.convalidated THEN 'not validated' END, 'missing') AS problem
FROM unnest(CAST(:constraint_tables AS text[]), CAST(:constraints AS text[])) AS wanted (table_name, name)
LEFT JOIN pg_constraint AS found
  ON found.conrelid = to_regclass(wanted.table_name)
 AND found.conname = wanted.name
WHERE found.convalidated IS NOT TRUE
UNION ALL
SELECT wanted.table_name, wanted.name, COALESCE(CASE WHEN found.tgenabled IN ('D', 'R') THEN 'disabled' END, 'missing') AS problem
FROM unnest(CAST(:trigger_tables AS text[]), CAST(:triggers AS text[])) AS wanted (table_name, name)
LEFT JOIN pg_trigger AS found
  ON found.tgrelid = to_regclass(wanted.table_name)
 AND found.tgname = wanted.name
WHERE found.tgenabled IS NULL
   OR found.tgenabled IN ('D', 'R')

-- name: late
-- How many reminders are overdue by more than a minute (a thousand are counted), and the oldest promise of those. What
-- failed is tried again within a day.
SELECT count(*) AS late, min(promise) AS oldest
FROM (
    SELECT snooze_due_at(snooze) AS promise
    FROM email_snoozes AS snooze
    WHERE NOT inactive
      AND remind_at <= CURRENT_TIMESTAMP + INTERVAL '1 day'
      AND GREATEST(snooze_due_at(snooze), created_at) < clock_timestamp() - INTERVAL '1 minute'
    ORDER BY remind_at
    LIMIT 1000
) AS overdue

-- name: liveness
-- Alive workers, the age of the last sweep, and the work that waits. Ages in seconds.
SELECT
    (
        SELECT count(*)
        FROM workers
        WHERE state = 'alive'
          AND heartbeat_at > clock_timestamp() - :dead_after
    ) AS workers,
    (
        SELECT extract(epoch FROM clock_timestamp() - finished_at)
        FROM housekeeping_runs
        WHERE chore = 'recover'
    ) AS swept_ago,
    (
        SELECT extract(epoch FROM clock_timestamp() - finished_at)
        FROM housekeeping_runs
        WHERE chore = 'prepare months'
    ) AS prepared_ago,
    (SELECT count(*) FROM email_snoozes WHERE outcome = 'retired') AS cases,
    (
        SELECT count(*)
        FROM reminder_sends
        WHERE state = 'uncertain'
          AND uncertain_at < clock_timestamp() - INTERVAL '1 day'
    ) AS long_uncertain,
    (SELECT count(*) FROM open_breakers) AS open_breakers,
    (
        SELECT count(*)
        FROM email_snoozes AS snooze
        CROSS JOIN LATERAL snooze_state(snooze, :known_schema) AS its
        WHERE NOT snooze.inactive
          AND snooze.claimed_at IS NULL
          AND snooze.remind_at <= CURRENT_TIMESTAMP
          AND snooze.schema_version > :known_schema
          AND its.why = 'newer'
    ) AS deferred

-- name: workers_of_host
-- How many workers of this host have a heartbeat.
SELECT count(*)
FROM workers
WHERE host = :host
  AND state <> 'dead'
  AND heartbeat_at > clock_timestamp() - :dead_after

-- name: mailboxes
-- Connected mailboxes: how many there are, are watched by no process, have a server that does not answer, cannot be used for
-- some minutes, and how many messages in them should be back, as support/mailboxes.sql counts; and whether one is left alone, or overdue, for over a minute.
SELECT
    count(mailboxes.id) AS connected,
    count(*) FILTER (WHERE state <> 'paused' AND COALESCE(owned_until, '-infinity') <= clock_timestamp()) AS unwatched,
    COALESCE(
        bool_or(state <> 'paused' AND COALESCE(owned_until, '-infinity') < clock_timestamp() - INTERVAL '1 minute'), FALSE
    ) AS left_alone,
    count(*) FILTER (WHERE problem IN ('gone', 'unreachable')) AS silent,
    min(problem_since) FILTER (WHERE problem IN ('gone', 'unreachable')) AS silent_since,
    count(*) FILTER (WHERE problem_since < clock_timestamp() - INTERVAL '5 minutes') AS failing,
    overdue.count AS overdue,
    overdue.oldest,
    COALESCE(overdue.oldest < CURRENT_TIMESTAMP - INTERVAL '1 minute', FALSE) AS late
FROM (
    SELECT count(*) AS count, min(GREATEST(returns_at, deferred_until)) AS oldest
    FROM messages
    WHERE NOT is_kept
      AND GREATEST(returns_at, deferred_until) <= CURRENT_TIMESTAMP
      AND returns_at IS NOT NULL
) AS overdue
LEFT JOIN mailboxes ON TRUE
GROUP BY overdue.count, overdue.oldest

-- name: push
-- Devices that get pushes and those with a problem, pushes of the last day by their end, and how many have been due for
-- some minutes.
SELECT
    (SELECT count(*) FROM push_devices) AS devices,
    (SELECT count(*) FROM push_devices WHERE problem IS NOT NULL) AS refused,
    count(*) FILTER (WHERE state = 'sent') AS sent,
    count(*) FILTER (WHERE state = 'failed') AS failed,
    count(*) FILTER (WHERE state = 'uncertain') AS uncertain,
    count(*) FILTER (
        WHERE state = 'reserved'
          AND try_at < CURRENT_TIMESTAMP - INTERVAL '5 minutes'
    ) AS overdue
FROM push_sends
WHERE created_at > CURRENT_TIMESTAMP - INTERVAL '1 day'

-- name: server
-- Properties that the guarantees require: version, encoding, writability, and whether commits are durable.
SELECT
    current_setting('server_version') AS version,
    CAST(current_setting('server_version_num') AS int) AS version_number,
    current_setting('server_encoding') AS encoding,
    pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' AS read_only,
    ARRAY(
        SELECT name
        FROM unnest(ARRAY['fsync', 'full_page_writes', 'synchronous_commit']) AS name
        WHERE current_setting(name) = 'off'
    ) AS switched_off

-- name: set_thresholds
-- Set the thresholds of the invariants about time, and a longer statement_timeout for tables of any size. The settings
-- hold for the rest of the transaction.
SELECT
    set_config('snoozer.lease_seconds', CAST(:lease AS text), TRUE),
    set_config('snoozer.sweep_seconds', CAST(:sweep AS text), TRUE),
    set_config('snoozer.backoff_seconds', CAST(:backoff AS text), TRUE),
    set_config('statement_timeout', '5min', TRUE)

-- name: unusable_indexes
-- Required indexes that are missing, or invalid, as after a failed CREATE INDEX CONCURRENTLY; and required unique
-- indexes that are not unique.
SELECT
    wanted.table_name,
    wanted.name,
    CASE
        WHEN found.indexrelid IS NULL THEN 'missing'
        WHEN NOT (found.indisvalid AND found.indisready AND found.indislive) THEN 'invalid'
        ELSE 'not unique'
    END AS problem
FROM unnest(
    CAST(:tables AS text[]), CAST(:names AS text[]), CAST(:uniques AS boolean[])
) AS wanted (table_name, name, is_unique)
LEFT JOIN pg_index AS found ON found.indexrelid = to_regclass(wanted.name)
WHERE (found.indisvalid AND found.indisready AND found.indislive AND found.indisunique >= wanted.is_unique) IS NOT TRUE
ORDER BY wanted.name

-- name: webhooks
-- Endpoints of webhooks, how many failed last and how many were switched off by Snoozer; deliveries of the last day by
-- their end, and how many have been due for some minutes at endpoints that do not fail.
SELECT
    (SELECT count(*) FROM webhook_endpoints) AS endpoints,
    (SELECT count(*) FROM webhook_endpoints WHERE is_on AND failures > 0) AS failing,
    (SELECT count(*) FROM webhook_endpoints WHERE off_reason <> 'owner') AS switched_off,
    (SELECT count(*) FROM webhook_endpoints WHERE off_reason = 'key') AS unreadable,
    (
        SELECT count(*)
        FROM webhook_deliveries
        WHERE occurred_at > CURRENT_TIMESTAMP - INTERVAL '1 day'
          AND state = 'delivered'
    ) AS delivered,
    (
        SELECT count(*)
        FROM webhook_deliveries
        WHERE occurred_at > CURRENT_TIMESTAMP - INTERVAL '1 day'
          AND state = 'failed'
    ) AS failed,
    (
        SELECT count(*)
        FROM webhook_deliveries AS delivery
        JOIN webhook_endpoints AS endpoint ON endpoint.id = delivery.endpoint_id
        WHERE delivery.state = 'waiting'
          AND delivery.try_at < CURRENT_TIMESTAMP - INTERVAL '5 minutes'
          AND endpoint.is_on
          AND endpoint.failures = 0
    ) AS overdue
