-- Webhooks learn that a message was put into Done, once for each promise.
CREATE OR REPLACE FUNCTION messages_webhook_done() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM webhook_endpoints WHERE is_on) THEN
        RETURN NULL;
    END IF;
    IF NEW.is_kept THEN
        PERFORM webhook_enter_done(NEW.user_email, NEW.message_id, NULL);
        RETURN NULL;
    END IF;
    PERFORM webhook_enter_done(NEW.user_email, NEW.message_id, send.snooze_id)
    FROM (
        SELECT reminder_sends.snooze_id, reminder_sends.scheduled_for
        FROM reminder_sends
        WHERE reminder_sends.user_email = NEW.user_email
          AND reminder_sends.message_id = NEW.message_id
        ORDER BY reminder_sends.scheduled_for DESC
        LIMIT 1
    ) AS send
    WHERE COALESCE((
        SELECT event.kind <> 'done'
        FROM snooze_events AS event
        WHERE event.snooze_id = send.snooze_id
          AND event.kind IN ('done', 'again', 'undone')
          AND CAST(event.detail ->> 'promise' AS timestamptz) = send.scheduled_for
        ORDER BY event.id DESC
        LIMIT 1
    ), TRUE);
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER messages_webhook_done
    AFTER UPDATE OF folder, place ON messages
    FOR EACH ROW
    WHEN (
        (NEW.is_kept AND NEW.folder = 'done' AND OLD.folder <> 'done')
        OR (NEW.place = 'aside' AND NEW.wanted = 'aside' AND OLD.place <> 'aside')
    )
    EXECUTE FUNCTION messages_webhook_done();
