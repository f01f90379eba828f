-- Make the tables of a month of the archive; returns whether one was missing. Waits 2 s for a lock at most.
CREATE OR REPLACE FUNCTION snooze_archive_prepare(month date) RETURNS boolean
    LANGUAGE plpgsql
    SECURITY DEFINER
    SET lock_timeout TO '2s'
    SET "TimeZone" TO 'UTC'
    SET search_path FROM CURRENT
    AS $$
DECLARE
    parent TEXT;
    partition TEXT;
    made BOOLEAN := FALSE;
BEGIN
    IF NOT pg_has_role(session_user, current_user, 'MEMBER') AND month > current_date + 100 THEN
        RAISE EXCEPTION 'no month of the archive is made so early' USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM pg_advisory_xact_lock(7266837007);
    FOREACH parent IN ARRAY ARRAY['email_snoozes_archive', 'reminder_sends_archive'] LOOP
        partition := parent || to_char(month, '_YYYY_MM');
        CONTINUE WHEN to_regclass(quote_ident(partition)) IS NOT NULL;
        EXECUTE format('CREATE TABLE %I (LIKE %I)', partition, parent);
        EXECUTE format(
            'ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
            parent, partition, month::timestamptz, month::timestamptz + INTERVAL '1 month'
        );
        made := TRUE;
    END LOOP;
    RETURN made;
END
$$;

REVOKE ALL ON FUNCTION snooze_archive_prepare(date) FROM PUBLIC;
