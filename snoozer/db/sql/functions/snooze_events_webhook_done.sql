-- Webhooks learn that a snooze without a kept message is done.
CREATE OR REPLACE FUNCTION snooze_events_webhook_done() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM webhook_enter_done(snooze.user_email, snooze.message_id, snooze.id)
    FROM email_snoozes AS snooze
    WHERE snooze.id = NEW.snooze_id
      AND NOT EXISTS (
          SELECT 1
          FROM messages AS kept
          WHERE kept.user_email = snooze.user_email
            AND kept.message_id = snooze.message_id
            AND kept.is_kept
      );
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER snooze_events_webhook_done
    AFTER INSERT ON snooze_events
    FOR EACH ROW
    WHEN (NEW.kind = 'done')
    EXECUTE FUNCTION snooze_events_webhook_done();
