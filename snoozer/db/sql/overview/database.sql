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
