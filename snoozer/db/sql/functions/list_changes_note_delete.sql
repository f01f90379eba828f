-- Open lists learn of deleted messages.
CREATE OR REPLACE FUNCTION list_changes_note_delete() RETURNS trigger
    LANGUAGE plpgsql
    SECURITY DEFINER
    SET search_path FROM CURRENT
    AS $$
BEGIN
    INSERT INTO list_changes (transaction_id, people)
    SELECT CAST(CAST(pg_current_xact_id() AS text) AS bigint), array_agg(DISTINCT hashtext(user_email))
    FROM gone
    HAVING count(*) > 0;
    RETURN NULL;
END
$$;

REVOKE ALL ON FUNCTION list_changes_note_delete() FROM PUBLIC;

CREATE OR REPLACE TRIGGER messages_note_delete
    AFTER DELETE ON messages
    REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT
    EXECUTE FUNCTION list_changes_note_delete();
