-- A snooze is done or has another time: its notices are withdrawn.
CREATE OR REPLACE FUNCTION snooze_events_push_withdraw() RETURNS trigger
    LANGUAGE plpgsql
    SECURITY DEFINER
    SET search_path FROM CURRENT
    AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM push_sends WHERE remote_id IS NOT NULL) THEN
        PERFORM push_withdraw(snooze.user_email, snooze.message_id)
        FROM email_snoozes AS snooze
        WHERE snooze.id = NEW.snooze_id;
    END IF;
    RETURN NULL;
END
$$;

REVOKE ALL ON FUNCTION snooze_events_push_withdraw() FROM PUBLIC;

CREATE OR REPLACE TRIGGER snooze_events_push_withdraw
    AFTER INSERT ON snooze_events
    FOR EACH ROW
    WHEN (NEW.kind IN ('done', 'again', 'asked', 'edited', 'skipped', 'cancelled'))
    EXECUTE FUNCTION snooze_events_push_withdraw();
