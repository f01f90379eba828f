-- The time that the person asked for.
CREATE OR REPLACE FUNCTION snooze_promise(snooze email_snoozes) RETURNS timestamp with time zone
    LANGUAGE sql
    IMMUTABLE
    AS $$
    SELECT COALESCE(snooze.scheduled_for, snooze.remind_at)
$$;
