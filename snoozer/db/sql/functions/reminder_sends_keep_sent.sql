-- Refuse every change of a send that is sent.
CREATE OR REPLACE FUNCTION reminder_sends_keep_sent() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'reminder_sends %: a reminder that was sent stays sent', OLD.id
        USING ERRCODE = 'check_violation';
END
$$;

CREATE OR REPLACE TRIGGER reminder_sends_keep_sent
    BEFORE UPDATE ON reminder_sends
    FOR EACH ROW
    WHEN (OLD.state = 'sent' AND NEW.state <> 'sent')
    EXECUTE FUNCTION reminder_sends_keep_sent();
