-- Return the server's counters: commits in this database, and bytes of WAL.
SELECT
    xact_commit AS commits,
    pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS wal
FROM pg_stat_database
WHERE datname = current_database()
