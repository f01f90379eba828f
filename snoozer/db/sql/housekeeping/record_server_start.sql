-- Record when the database server was first seen since its present start; forget earlier starts.
WITH recorded AS (
    INSERT INTO server_starts (started_at, met_at)
    VALUES (pg_postmaster_start_time(), clock_timestamp())
    ON CONFLICT (started_at) DO NOTHING
)
DELETE FROM server_starts
WHERE started_at <> pg_postmaster_start_time()
