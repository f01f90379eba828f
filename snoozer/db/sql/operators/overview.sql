-- name: clock
-- When the clock last did a chore of :sweep, when it last recorded the minutes, which of :chores was done longest ago
-- and longer ago than its limit, and the chores that the database refuses, since when.
SELECT
    (
        SELECT max(finished_at)
        FROM housekeeping_runs
        WHERE chore = ANY(CAST(:sweep AS text[]))
    ) AS swept_at,
    (SELECT max(finished_at) FROM housekeeping_runs WHERE chore = 'minutes') AS recorded_at,
    ARRAY(
        SELECT substr(chore, length('refused: ') + 1)
        FROM housekeeping_runs
        WHERE starts_with(chore, 'refused: ')
        ORDER BY finished_at
    ) AS refused,
    (SELECT min(finished_at) FROM housekeeping_runs WHERE starts_with(chore, 'refused: ')) AS refused_since,
    overdue.chore AS overdue,
    overdue.finished_at AS overdue_since,
    COALESCE(overdue.longest, INTERVAL '0') AS may_take
FROM (VALUES (TRUE)) AS always (is_there)
LEFT JOIN LATERAL (
    SELECT known.chore, run.finished_at, known.longest
    FROM unnest(CAST(:chores AS text[]), CAST(:limits AS interval[])) AS known (chore, longest)
    JOIN housekeeping_runs AS run ON run.chore = known.chore
    WHERE run.finished_at < clock_timestamp() - known.longest
    ORDER BY run.finished_at
    LIMIT 1
) AS overdue ON always.is_there

-- name: database
-- The database: its size, dead and live rows, the table with the most dead ones, since when the oldest transaction has
-- had its snapshot, connections, and how much WAL was written; whether this role may list the WAL's files.
SELECT
    pg_database_size(current_database()) AS bytes,
    COALESCE((SELECT sum(n_dead_tup) FROM pg_stat_user_tables), 0) AS dead,
    COALESCE((SELECT sum(n_live_tup) FROM pg_stat_user_tables), 0) AS live,
    worst.relname AS worst_table,
    COALESCE(worst.n_dead_tup, 0) AS worst_dead,
    worst.last_vacuum AS worst_vacuumed_at,
    (
        SELECT min(xact_start)
        FROM pg_stat_activity
        WHERE pid <> pg_backend_pid()
          AND datname = current_database()
          AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)
          AND xact_start IS NOT NULL
    ) AS oldest_snapshot,
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
    CAST(current_setting('max_connections') AS int) AS max_connections,
    CAST(
        CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END AS text
    ) AS wal_position,
    has_function_privilege('pg_ls_waldir()', 'EXECUTE') AS may_list_wal
FROM (VALUES (1)) AS one (row)
LEFT JOIN (
    SELECT relname, n_dead_tup, GREATEST(last_vacuum, last_autovacuum) AS last_vacuum
    FROM pg_stat_user_tables
    WHERE n_dead_tup > 0
    ORDER BY n_dead_tup DESC
    LIMIT 1
) AS worst ON TRUE

-- name: held
-- The rows that each worker holds: how many, since when the oldest, how many for longer than :slow, how many with a
-- lease that has ended, and the first few of them.
SELECT
    claimed_by AS worker,
    count(*) AS rows,
    min(claimed_at) AS oldest,
    count(*) FILTER (WHERE claimed_at < clock_timestamp() - CAST(:slow AS interval)) AS slow,
    count(*) FILTER (WHERE lease_expires_at < clock_timestamp()) AS lapsed,
    (array_agg(id ORDER BY claimed_at, id))[1:5] AS ids
FROM email_snoozes
WHERE claimed_at IS NOT NULL
GROUP BY claimed_by

-- name: locks
-- How many sessions of this database wait for locks for longer than :longer_than, and since when; and the oldest
-- transaction that holds a lock on the queue or the ledger (rows or tables) for longer: its process, program, and since
-- when. Readers, VACUUM and ANALYZE do not block and are left out. `clock_is_busy` if a session of the clock waits for
-- a lock, or did something within this time.
WITH waiting AS MATERIALIZED (
    SELECT pid, query_start
    FROM pg_stat_activity
    WHERE datname = current_database()
      AND wait_event_type = 'Lock'
      AND query_start < clock_timestamp() - CAST(:longer_than AS interval)
),
holder AS MATERIALIZED (
    SELECT activity.pid, activity.application_name, activity.xact_start
    FROM pg_stat_activity AS activity
    WHERE activity.datname = current_database()
      AND activity.pid <> pg_backend_pid()
      AND activity.xact_start < clock_timestamp() - CAST(:longer_than AS interval)
      AND activity.wait_event_type IS DISTINCT FROM 'Lock'
      AND EXISTS (
          SELECT 1
          FROM pg_locks AS held
          WHERE held.pid = activity.pid
            AND held.granted
            AND held.relation IN ('email_snoozes'::regclass, 'reminder_sends'::regclass)
            AND held.mode NOT IN ('AccessShareLock', 'ShareUpdateExclusiveLock')
      )
    ORDER BY activity.xact_start
    LIMIT 1
)
SELECT
    (SELECT count(*) FROM waiting) AS waiting,
    (SELECT min(query_start) FROM waiting) AS waiting_since,
    holder.pid AS holder,
    holder.application_name AS program,
    holder.xact_start AS held_since,
    EXISTS (
        SELECT 1
        FROM pg_stat_activity
        WHERE datname = current_database()
          AND application_name = 'snoozer-clock'
          AND (
              wait_event_type = 'Lock'
              OR state_change > clock_timestamp() - CAST(:longer_than AS interval)
          )
    ) AS clock_is_busy
FROM (VALUES (1)) AS one (row)
LEFT JOIN holder ON TRUE

-- name: new_cases
-- How many reminders became cases in the last :lately and are not decided, counted up to :most.
SELECT count(*)
FROM (
    SELECT 1
    FROM email_snoozes
    WHERE outcome = 'retired'
      AND finished_at > CURRENT_TIMESTAMP - CAST(:lately AS interval)
    ORDER BY finished_at
    LIMIT :most
) AS newest

-- name: wal_bytes
-- How many bytes the files of the WAL have; only a role with pg_monitor may ask.
SELECT COALESCE(sum(size), 0)
FROM pg_ls_waldir()

-- name: replies
-- How many reminders were sent in the last seconds, and how long the mail server took to take one, by its newest replies
-- of the last minute.
SELECT
    (
        SELECT count(*)
        FROM reminder_sends
        WHERE state = 'sent'
          AND channel = 'email'
          AND sent_at > CURRENT_TIMESTAMP - CAST(:just_now AS interval)
    ) AS just_sent,
    (
        SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds)
        FROM (
            SELECT CAST(extract(epoch FROM sent_at - dot_authorised_at) AS double precision) AS seconds
            FROM reminder_sends
            WHERE state = 'sent'
              AND channel = 'email'
              AND sent_at > CURRENT_TIMESTAMP - INTERVAL '1 minute'
              AND resolution IS NULL
            ORDER BY sent_at DESC
            LIMIT 100
        ) AS newest
    ) AS reply_seconds

-- name: workers
-- Working workers, and workers lost within the last :lately: silent for :dead_after without having left. While the
-- database was away, none could be heard: silence counts from :answers_since, unless that is NULL. Each later
-- start of any worker, even of a worker that was lost later, replaces a lost worker; `is_missed` if none did. Missed ones
-- first, then lost ones, then by host and start; at most :most of lost and of others, so that long lists do not hide
-- each other.
WITH known AS MATERIALIZED (
    SELECT
        *,
        COALESCE(
            stopped_at - heartbeat_at,
            clock_timestamp() - GREATEST(heartbeat_at, CAST(:answers_since AS timestamptz))
        ) > CAST(:dead_after AS interval) AS is_lost
    FROM workers
    WHERE state <> 'dead'
       OR stopped_at > clock_timestamp() - CAST(:lately AS interval)
),
missed AS (
    -- Since any moment, so many more were lost than started. A start at the moment of a loss came before it.
    SELECT COALESCE(max(excess), 0) AS number
    FROM (
        SELECT sum(change) OVER (ORDER BY at DESC, change DESC ROWS UNBOUNDED PRECEDING) AS excess
        FROM (
            SELECT heartbeat_at AS at, 1 AS change FROM known WHERE is_lost
            UNION ALL
            SELECT started_at, -1 FROM known
        ) AS changes
    ) AS since
),
worker AS (
    SELECT
        *,
        is_lost AND row_number() OVER (PARTITION BY is_lost ORDER BY heartbeat_at DESC, id)
            <= (SELECT number FROM missed) AS is_missed
    FROM known
    WHERE state <> 'dead'
       OR is_lost
),
listed AS (
    SELECT *, row_number() OVER (PARTITION BY is_lost ORDER BY is_missed DESC, host, started_at, id) AS number
    FROM worker
)
SELECT id, version, host, state, started_at, heartbeat_at, batch_size, concurrency, is_lost, is_missed
FROM listed
WHERE number <= :most
ORDER BY is_lost DESC, number
