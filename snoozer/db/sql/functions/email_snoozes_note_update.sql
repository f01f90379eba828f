-- Open lists learn of changes of snoozes that a person can see.
CREATE OR REPLACE FUNCTION email_snoozes_note_update() RETURNS trigger
    LANGUAGE plpgsql
    SECURITY DEFINER
    SET search_path FROM CURRENT
    AS $$
BEGIN
    INSERT INTO list_changes (transaction_id, people)
    SELECT CAST(CAST(pg_current_xact_id() AS text) AS bigint), array_agg(DISTINCT hashtext(changed.user_email))
    FROM (
        SELECT id, user_email, subject, sender_email, note, remind_at, COALESCE(scheduled_for, remind_at), inactive, outcome, recurrence, reply_policy, reply_scope FROM fresh
        EXCEPT
        SELECT id, user_email, subject, sender_email, note, remind_at, COALESCE(scheduled_for, remind_at), inactive, outcome, recurrence, reply_policy, reply_scope FROM gone
    ) AS changed
    HAVING count(*) > 0;
    RETURN NULL;
END
$$;

REVOKE ALL ON FUNCTION email_snoozes_note_update() FROM PUBLIC;

CREATE OR REPLACE TRIGGER email_snoozes_note_update
    AFTER UPDATE ON email_snoozes
    REFERENCING OLD TABLE AS gone NEW TABLE AS fresh
    FOR EACH STATEMENT
    EXECUTE FUNCTION email_snoozes_note_update();
