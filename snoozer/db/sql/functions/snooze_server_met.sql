-- When Snoozer first saw this start of the server.
CREATE OR REPLACE FUNCTION snooze_server_met() RETURNS timestamp with time zone
    LANGUAGE sql
    STABLE
    AS $$
    SELECT COALESCE(
        (SELECT met_at FROM server_starts WHERE started_at = pg_postmaster_start_time()),
        pg_postmaster_start_time()
    )
$$;
