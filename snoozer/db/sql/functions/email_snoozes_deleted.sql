-- Deleted snoozes: open lists learn of them, and their messages return to the inbox or home.
CREATE OR REPLACE FUNCTION email_snoozes_deleted() RETURNS trigger
    LANGUAGE plpgsql
    SECURITY DEFINER
    SET search_path FROM CURRENT
    AS $$
BEGIN
    INSERT INTO list_changes (transaction_id, people)
    SELECT CAST(CAST(pg_current_xact_id() AS text) AS bigint), array_agg(DISTINCT hashtext(user_email))
    FROM gone
    HAVING count(*) > 0;
    UPDATE messages AS message
    SET returns_at = NULL,
        snooze_id = NULL,
        folder = CASE WHEN message.is_kept AND message.folder = 'snoozed' THEN 'inbox' ELSE message.folder END,
        wanted = CASE message.wanted WHEN 'snoozed' THEN 'home' ELSE message.wanted END,
        updated_at = CURRENT_TIMESTAMP
    FROM gone
    WHERE message.snooze_id = gone.id
      AND (message.returns_at IS NOT NULL OR gone.outcome IS NULL);
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER email_snoozes_deleted
    AFTER DELETE ON email_snoozes
    REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT
    EXECUTE FUNCTION email_snoozes_deleted();
