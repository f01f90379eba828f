-- The id of the send in the archive that kept a promise, or NULL; promises of the last day are not in the archive.
CREATE OR REPLACE FUNCTION snooze_archived_send(owner text, message text, promise timestamp with time zone) RETURNS bigint
    LANGUAGE plpgsql
    STABLE
    AS $$
BEGIN
    IF promise > clock_timestamp() - INTERVAL '1 day' THEN
        RETURN NULL;
    END IF;
    RETURN (
        SELECT max(id)
        FROM reminder_sends_archive
        WHERE user_email = owner
          AND message_id = message
          AND scheduled_for = promise
          AND state = 'sent'
          AND channel = 'email'
    );
END
$$;
