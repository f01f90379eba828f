-- Open lists learn of changes of messages that a person can see.
CREATE OR REPLACE FUNCTION messages_note_update() RETURNS trigger
    LANGUAGE plpgsql
    SECURITY DEFINER
    SET search_path FROM CURRENT
    AS $$
BEGIN
    INSERT INTO list_changes (transaction_id, people)
    SELECT CAST(CAST(pg_current_xact_id() AS text) AS bigint), array_agg(DISTINCT hashtext(changed.user_email))
    FROM (
        SELECT
            id, user_email, subject, sender_name, sender_email, folder, unread, surfaced_at, returned, place, wanted,
            uidvalidity, uid, moving_to
        FROM fresh
        EXCEPT
        SELECT
            id, user_email, subject, sender_name, sender_email, folder, unread, surfaced_at, returned, place, wanted,
            uidvalidity, uid, moving_to
        FROM gone
    ) AS changed
    HAVING count(*) > 0;
    RETURN NULL;
END
$$;

REVOKE ALL ON FUNCTION messages_note_update() FROM PUBLIC;

CREATE OR REPLACE TRIGGER messages_note_update
    AFTER UPDATE ON messages
    REFERENCING OLD TABLE AS gone NEW TABLE AS fresh
    FOR EACH STATEMENT
    EXECUTE FUNCTION messages_note_update();
