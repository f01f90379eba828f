-- Statements that wait for a lock, for how long, and which sessions hold it.
SELECT
    waiting.pid,
    COALESCE(NULLIF(waiting.application_name, ''), 'without a name') AS application,
    clock_timestamp() - waiting.query_start AS waits,
    holder.pid AS held_by,
    COALESCE(NULLIF(holder.application_name, ''), 'without a name') AS holder,
    holder.state AS holder_state,
    clock_timestamp() - holder.xact_start AS held,
    format('SELECT pg_terminate_backend(%s)', holder.pid) AS ends_with
FROM pg_stat_activity AS waiting
CROSS JOIN LATERAL unnest(pg_blocking_pids(waiting.pid)) AS blocking (pid)
JOIN pg_stat_activity AS holder ON holder.pid = blocking.pid
WHERE waiting.wait_event_type = 'Lock'
  AND waiting.datname = current_database()
ORDER BY waits DESC
LIMIT 50
