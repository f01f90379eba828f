-- When the message of a snooze returns; NULL if it returned for this promise. Without a date it stays away, and only its
-- reminder comes: its time is after all others.
CREATE OR REPLACE FUNCTION snooze_return_at(snooze email_snoozes) RETURNS timestamp with time zone
    LANGUAGE plpgsql
    STABLE
    AS $$
DECLARE
    promise TIMESTAMPTZ := COALESCE(snooze.scheduled_for, snooze.remind_at);
BEGIN
    IF snooze.recurrence ->> 'kind' = 'someday' THEN
        RETURN '9999-01-01 00:00+00';
    END IF;
    IF EXISTS (
        SELECT 1
        FROM reminder_sends
        WHERE user_email = snooze.user_email
          AND message_id = snooze.message_id
          AND scheduled_for = promise
          AND channel = 'mailbox'
    ) THEN
        RETURN NULL;
    END IF;
    RETURN promise;
END
$$;
