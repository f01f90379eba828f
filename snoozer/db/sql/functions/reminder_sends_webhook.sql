-- Webhooks learn that a reminder was sent, or that a message returned.
CREATE OR REPLACE FUNCTION reminder_sends_webhook() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM webhook_endpoints WHERE is_on) THEN
        RETURN NULL;
    END IF;
    IF NOT EXISTS (
        SELECT 1
        FROM accounts
        JOIN webhook_endpoints AS endpoint ON endpoint.account_id = accounts.id
        WHERE accounts.email = lower(NEW.user_email)
          AND endpoint.is_on
    ) THEN
        RETURN NULL;
    END IF;
    PERFORM webhook_enter(
        NEW.user_email, CASE NEW.channel WHEN 'email' THEN 'sent' ELSE 'returned' END, NEW.snooze_id,
        COALESCE(jsonb_typeof(snooze.recurrence), 'null') <> 'null', NEW.scheduled_for, NULL, snooze.reference,
        snooze.subject
    )
    FROM email_snoozes AS snooze
    WHERE snooze.id = NEW.snooze_id;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER reminder_sends_webhook_reminder
    AFTER UPDATE ON reminder_sends
    FOR EACH ROW
    WHEN (NEW.channel = 'email' AND NEW.state = 'sent' AND OLD.state <> 'sent')
    EXECUTE FUNCTION reminder_sends_webhook();

CREATE OR REPLACE TRIGGER reminder_sends_webhook_return
    AFTER INSERT ON reminder_sends
    FOR EACH ROW
    WHEN (NEW.channel = 'mailbox' AND NEW.state = 'sent' AND NEW.sent_at > clock_timestamp() - INTERVAL '1 hour')
    EXECUTE FUNCTION reminder_sends_webhook();
