-- Clear the time of return of a message that stays; set it from the snooze when the message shall return again.
CREATE OR REPLACE FUNCTION messages_stay() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.wanted = 'snoozed' AND NOT OLD.returns THEN
        NEW.returns := TRUE;
        NEW.home := 'INBOX';
        SELECT snooze_return_at(snooze), CASE WHEN snooze_return_at(snooze) IS NOT NULL THEN snooze.id END
        INTO NEW.returns_at, NEW.snooze_id
        FROM email_snoozes AS snooze
        WHERE snooze.user_email = NEW.user_email
          AND (
              snooze.id = NEW.snoozed_with
              OR (NEW.snoozed_with IS NULL AND snooze.message_id = NEW.message_id)
          )
          AND NOT snooze.inactive;
    ELSE
        NEW.returns_at := NULL;
        NEW.snooze_id := NULL;
    END IF;
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER messages_stay
    BEFORE UPDATE ON messages
    FOR EACH ROW
    WHEN (NOT OLD.returns OR NOT NEW.returns)
    EXECUTE FUNCTION messages_stay();
