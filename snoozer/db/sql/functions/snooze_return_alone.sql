-- Whether the return of a message keeps its promise without a reminder: `returned`, `awaited`, or NULL if it does not.
CREATE OR REPLACE FUNCTION snooze_return_alone(person text, message text, promise timestamp with time zone) RETURNS text
    LANGUAGE plpgsql
    STABLE
    AS $$
DECLARE
    entry RECORD;
BEGIN
    SELECT its.returns_at, its.deferred_until AS deferred_until, mailbox.state, mailbox.problem
    INTO entry
    FROM messages AS its
    JOIN mailboxes AS mailbox ON mailbox.id = its.mailbox_id
    WHERE its.user_email = person
      AND its.message_id = message
      AND mailbox.brings_back = 'return';
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF EXISTS (
        SELECT 1
        FROM reminder_sends
        WHERE user_email = person
          AND message_id = message
          AND scheduled_for = promise
          AND channel = 'mailbox'
    ) THEN
        RETURN 'returned';
    END IF;
    IF entry.returns_at = promise
        AND entry.state = 'active'
        AND entry.problem IS NULL
        AND GREATEST(promise, entry.deferred_until, snooze_server_met()) > clock_timestamp() - INTERVAL '15 minutes'
    THEN
        RETURN 'awaited';
    END IF;
    RETURN NULL;
END
$$;
