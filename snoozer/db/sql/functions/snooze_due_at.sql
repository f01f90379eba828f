-- When the snooze is due: its promise, or the end of the rest that deferred it.
CREATE OR REPLACE FUNCTION snooze_due_at(snooze email_snoozes) RETURNS timestamp with time zone
    LANGUAGE sql
    IMMUTABLE
    AS $$
    SELECT GREATEST(snooze_promise(snooze), snooze.deferred_until)
$$;
