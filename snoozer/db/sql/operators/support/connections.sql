-- Sessions of the database server by their application, and how many it takes.
SELECT
    COALESCE(NULLIF(application_name, ''), 'without a name') AS application,
    count(*) AS sessions,
    count(*) FILTER (WHERE state = 'active') AS active,
    count(*) FILTER (WHERE state LIKE 'idle in transaction%') AS idle_in_transaction,
    count(*) FILTER (WHERE wait_event_type = 'Lock') AS waiting_for_locks,
    max(clock_timestamp() - xact_start) AS longest_transaction,
    (
        SELECT CAST(current_setting('max_connections') AS int) - CAST(current_setting('superuser_reserved_connections') AS int)
    ) AS server_takes
FROM pg_stat_activity
WHERE backend_type = 'client backend'
GROUP BY 1
ORDER BY sessions DESC, application
LIMIT 50
