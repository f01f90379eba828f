-- How many sessions of this database wait for locks for longer than :longer_than, and since when; and the oldest
-- transaction that holds a lock on the queue or the ledger (rows or tables) for longer: its process, program, and since
-- when. Readers, VACUUM and ANALYZE do not block and are left out.
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
    holder.xact_start AS held_since
FROM (VALUES (1)) AS one (row)
LEFT JOIN holder ON TRUE
