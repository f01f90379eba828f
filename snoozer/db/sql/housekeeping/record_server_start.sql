-- The server's present start is met now, if it was not met before; earlier starts are over.
WITH recorded AS (
    INSERT INTO server_starts (started_at, met_at)
    VALUES (pg_postmaster_start_time(), clock_timestamp())
    ON CONFLICT (started_at) DO NOTHING
)
DELETE FROM server_starts
WHERE started_at <> pg_postmaster_start_time()
