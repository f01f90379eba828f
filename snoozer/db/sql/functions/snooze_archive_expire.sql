-- Drop the months of the archive before a date and return their names; a role that does not own them drops none of the
-- last month.
CREATE OR REPLACE FUNCTION snooze_archive_expire(keep_from date) RETURNS SETOF text
    LANGUAGE plpgsql
    SECURITY DEFINER
    SET lock_timeout TO '2s'
    SET search_path FROM CURRENT
    AS $$
DECLARE
    partition TEXT;
BEGIN
    IF NOT pg_has_role(session_user, current_user, 'MEMBER') THEN
        keep_from := LEAST(keep_from, (date_trunc('month', now() AT TIME ZONE 'UTC') - INTERVAL '1 month')::date);
    END IF;
    FOR partition IN
        SELECT relname
        FROM pg_inherits
        JOIN pg_class ON pg_class.oid = inhrelid
        WHERE inhparent IN ('email_snoozes_archive'::regclass, 'reminder_sends_archive'::regclass)
          AND CASE
              WHEN relname ~ '_[0-9]{4}_[0-9]{2}$' THEN to_date(right(relname, 7), 'YYYY_MM') < keep_from
              ELSE FALSE
          END
        ORDER BY relname
    LOOP
        EXECUTE format('DROP TABLE %I', partition);
        RETURN NEXT partition;
    END LOOP;
END
$$;

REVOKE ALL ON FUNCTION snooze_archive_expire(date) FROM PUBLIC;
