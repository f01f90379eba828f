-- Whether the return of a message keeps its promise without a reminder: `returned`, `awaited`, or NULL if it does not.
-- A message that went missing before its time is awaited, too, while it is sought: if its owner has deleted it, the
-- snooze is over. A conversation is awaited while any of its messages is.
CREATE OR REPLACE FUNCTION snooze_return_alone(person text, message text, promise timestamp with time zone) RETURNS text
    LANGUAGE plpgsql
    STABLE
    AS $$
DECLARE
    entry RECORD;
    due timestamp with time zone;
BEGIN
    SELECT its.returns_at, its.deferred_until, its.missing_since, mailbox.state, mailbox.problem,
        mailbox.brings_back = 'return' AS is_alone
    INTO entry
    FROM messages AS its
    JOIN mailboxes AS mailbox ON mailbox.id = its.mailbox_id
    WHERE its.snooze_id = (
        SELECT snooze.id
        FROM email_snoozes AS snooze
        WHERE snooze.user_email = person
          AND snooze.message_id = message
          AND NOT snooze.inactive
    )
    ORDER BY its.returns_at IS NOT DISTINCT FROM promise DESC, its.missing_since NULLS FIRST
    LIMIT 1;
    IF NOT FOUND OR NOT (entry.is_alone OR entry.missing_since IS NOT NULL) THEN
        RETURN NULL;
    END IF;
    IF entry.is_alone AND EXISTS (
        SELECT 1
        FROM reminder_sends
        WHERE user_email = person
          AND message_id = message
          AND scheduled_for = promise
          AND channel = 'mailbox'
    ) THEN
        RETURN 'returned';
    END IF;
    due := GREATEST(promise, entry.deferred_until);
    IF entry.returns_at = promise
        AND entry.state = 'active'
        AND entry.problem IS NULL
        AND GREATEST(due, snooze_server_met()) > clock_timestamp() - INTERVAL '15 minutes'
        AND (entry.is_alone OR entry.missing_since < due)
    THEN
        RETURN 'awaited';
    END IF;
    RETURN NULL;
END
$$;
