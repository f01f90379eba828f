-- Clear the time of return of a message that stays; set it from the snooze when the message shall return again.
CREATE OR REPLACE FUNCTION messages_stay() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.wanted = 'snoozed' AND NOT OLD.returns THEN
        NEW.returns := TRUE;
        NEW.home := 'INBOX';
        SELECT snooze_return_at(snooze)
        INTO NEW.returns_at
        FROM email_snoozes AS snooze
        WHERE snooze.id = NEW.snooze_id
          AND NOT snooze.inactive;
    ELSE
        NEW.returns_at := NULL;
    END IF;
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER messages_stay
    BEFORE UPDATE ON messages
    FOR EACH ROW
    WHEN (NOT OLD.returns OR NOT NEW.returns)
    EXECUTE FUNCTION messages_stay();
