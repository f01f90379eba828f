-- Devices of the person get one push for each promise: for the return of the message, else for the reminder.
CREATE OR REPLACE FUNCTION reminder_sends_push() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NOT EXISTS (
        SELECT 1
        FROM push_devices AS device
        JOIN accounts ON accounts.id = device.account_id
        WHERE accounts.email = lower(NEW.user_email)
          AND accounts.disabled_at IS NULL
    ) THEN
        RETURN NULL;
    END IF;
    IF NEW.channel = 'email' AND (
        EXISTS (
            SELECT 1
            FROM reminder_sends AS back
            WHERE back.user_email = NEW.user_email
              AND back.message_id = NEW.message_id
              AND back.scheduled_for = NEW.scheduled_for
              AND back.channel = 'mailbox'
        )
        OR EXISTS (
            SELECT 1
            FROM messages AS its
            LEFT JOIN mailboxes AS mailbox ON mailbox.id = its.mailbox_id
            WHERE its.user_email = NEW.user_email
              AND its.message_id = NEW.message_id
              AND its.returns_at = NEW.scheduled_for
              AND (
                  its.is_kept
                  OR (its.place <> 'missing' AND mailbox.state = 'active' AND mailbox.problem IS NULL)
              )
        )
    ) THEN
        RETURN NULL;
    END IF;
    INSERT INTO push_sends (device_id, account_id, snooze_id, scheduled_for, try_at, expires_at)
    SELECT
        device.id,
        device.account_id,
        NEW.snooze_id,
        NEW.scheduled_for,
        GREATEST(clock_timestamp(), device.quiet_until),
        clock_timestamp() + INTERVAL '4 hours'
    FROM push_devices AS device
    JOIN accounts ON accounts.id = device.account_id
    WHERE accounts.email = lower(NEW.user_email)
    ORDER BY device.id
    ON CONFLICT ON CONSTRAINT uq_push_sends_promise DO NOTHING;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER reminder_sends_push_reminder
    AFTER UPDATE ON reminder_sends
    FOR EACH ROW
    WHEN (
        NEW.channel = 'email'
        AND NEW.state = 'sent'
        AND OLD.state <> 'sent'
        AND NEW.resolution IS DISTINCT FROM 'answered'
        AND NEW.sent_at > clock_timestamp() - INTERVAL '1 hour'
    )
    EXECUTE FUNCTION reminder_sends_push();

CREATE OR REPLACE TRIGGER reminder_sends_push_return
    AFTER INSERT ON reminder_sends
    FOR EACH ROW
    WHEN (NEW.channel = 'mailbox' AND NEW.state = 'sent' AND NEW.sent_at > clock_timestamp() - INTERVAL '1 hour')
    EXECUTE FUNCTION reminder_sends_push();
