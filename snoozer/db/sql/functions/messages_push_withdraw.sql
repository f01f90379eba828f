-- A message left its inbox, because it is done or snoozed again: its notices are withdrawn.
CREATE OR REPLACE FUNCTION messages_push_withdraw() RETURNS trigger
    LANGUAGE plpgsql
    SECURITY DEFINER
    SET search_path FROM CURRENT
    AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM push_sends WHERE remote_id IS NOT NULL) THEN
        PERFORM push_withdraw(NEW.user_email, NEW.message_id);
    END IF;
    RETURN NULL;
END
$$;

REVOKE ALL ON FUNCTION messages_push_withdraw() FROM PUBLIC;

CREATE OR REPLACE TRIGGER messages_push_withdraw
    AFTER UPDATE OF folder, place ON messages
    FOR EACH ROW
    WHEN (
        (NEW.is_kept AND OLD.folder = 'inbox' AND NEW.folder <> 'inbox')
        OR (OLD.place = 'home' AND NEW.place IN ('snoozed', 'aside'))
    )
    EXECUTE FUNCTION messages_push_withdraw();
