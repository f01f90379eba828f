-- A new message returns at the time of its live snooze, if there is one and no other was given. The release before gives
-- the snooze of a conversation in `snoozed_with`.
CREATE OR REPLACE FUNCTION messages_fill_return() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    SELECT snooze_return_at(snooze), snooze.id
    INTO NEW.returns_at, NEW.snooze_id
    FROM email_snoozes AS snooze
    WHERE snooze.user_email = NEW.user_email
      AND (snooze.id = NEW.snoozed_with OR (NEW.snoozed_with IS NULL AND snooze.message_id = NEW.message_id))
      AND NOT snooze.inactive;
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER messages_fill_return
    BEFORE INSERT ON messages
    FOR EACH ROW
    WHEN (NEW.snooze_id IS NULL)
    EXECUTE FUNCTION messages_fill_return();
