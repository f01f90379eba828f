-- Open lists learn of new messages.
CREATE OR REPLACE FUNCTION list_changes_note_insert() RETURNS trigger
    LANGUAGE plpgsql
    SECURITY DEFINER
    SET search_path FROM CURRENT
    AS $$
BEGIN
    INSERT INTO list_changes (transaction_id, people)
    SELECT CAST(CAST(pg_current_xact_id() AS text) AS bigint), array_agg(DISTINCT hashtext(user_email))
    FROM fresh
    HAVING count(*) > 0;
    RETURN NULL;
END
$$;

REVOKE ALL ON FUNCTION list_changes_note_insert() FROM PUBLIC;

CREATE OR REPLACE TRIGGER messages_note_insert
    AFTER INSERT ON messages
    REFERENCING NEW TABLE AS fresh
    FOR EACH STATEMENT
    EXECUTE FUNCTION list_changes_note_insert();
