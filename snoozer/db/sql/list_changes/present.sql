-- The time, and the snapshot of the database that the next statements see at least.
SELECT
    clock_timestamp() AS now,
    CAST(pg_current_snapshot() AS text) AS snapshot
