-- Which server, database and timeline this is; NULL for what the role or a standby may not know.
CREATE OR REPLACE FUNCTION snooze_timeline(OUT system_identifier bigint, OUT database_oid bigint, OUT timeline text) RETURNS record
    LANGUAGE plpgsql
    STABLE
    AS $$
BEGIN
    BEGIN
        SELECT control.system_identifier INTO system_identifier FROM pg_control_system() AS control;
    EXCEPTION WHEN OTHERS THEN
        system_identifier := NULL;
    END;
    SELECT oid INTO database_oid FROM pg_database WHERE datname = current_database();
    BEGIN
        IF NOT pg_is_in_recovery() THEN
            timeline := left(pg_walfile_name(pg_current_wal_lsn()), 8);
        END IF;
    EXCEPTION WHEN OTHERS THEN
        timeline := NULL;
    END;
END
$$;
