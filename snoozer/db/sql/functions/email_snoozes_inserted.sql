-- New snoozes: open lists, a worker that sleeps, their messages and webhooks learn of them. A known message at
-- home in a connected mailbox is put away, an unknown message is searched for.
CREATE OR REPLACE FUNCTION email_snoozes_inserted() RETURNS trigger
    LANGUAGE plpgsql
    SECURITY DEFINER
    SET search_path FROM CURRENT
    AS $$
BEGIN
    INSERT INTO list_changes (transaction_id, people)
    SELECT CAST(CAST(pg_current_xact_id() AS text) AS bigint), array_agg(DISTINCT hashtext(user_email))
    FROM fresh
    HAVING count(*) > 0;
    IF EXISTS (
        SELECT 1
        FROM fresh
        WHERE NOT inactive
          AND remind_at <= clock_timestamp() + INTERVAL '2 seconds'
    ) THEN
        PERFORM pg_notify('snooze_due', '');
    END IF;
    -- Most inserts are about no message that is known, and asking costs less than an UPDATE of no row.
    IF EXISTS (SELECT 1 FROM fresh JOIN messages USING (user_email, message_id)) THEN
        UPDATE messages AS message
        SET returns_at = due.at,
            snooze_id = due.id,
            wanted = CASE WHEN message.wanted = 'home' AND message.place = 'home' THEN 'snoozed' ELSE message.wanted END,
            updated_at = CURRENT_TIMESTAMP
        FROM (
            SELECT snooze.id, its.id AS its_id, snooze_return_at(snooze) AS at
            FROM fresh
            JOIN email_snoozes AS snooze ON snooze.id = fresh.id
            JOIN messages AS its ON its.user_email = fresh.user_email AND its.message_id = fresh.message_id
            WHERE NOT fresh.inactive
        ) AS due
        WHERE message.id = due.its_id;
    END IF;
    IF EXISTS (SELECT 1 FROM mailboxes WHERE state = 'active')
        AND EXISTS (
            SELECT 1
            FROM fresh
            WHERE (
                SELECT TRUE
                FROM accounts AS account
                JOIN mailboxes AS mailbox ON mailbox.account_id = account.id
                WHERE account.email = lower(fresh.user_email)
                  AND mailbox.state = 'active'
                LIMIT 1
            )
        )
    THEN
        PERFORM mailbox_searches_enter(ARRAY(SELECT id FROM fresh));
    END IF;
    IF EXISTS (SELECT 1 FROM webhook_endpoints WHERE is_on) THEN
        PERFORM webhook_enter(
            fresh.user_email, 'created', fresh.id, COALESCE(jsonb_typeof(fresh.recurrence), 'null') <> 'null',
            COALESCE(fresh.scheduled_for, fresh.remind_at), fresh.remind_at, fresh.reference, fresh.subject
        )
        FROM (
            SELECT *
            FROM fresh
            WHERE outcome IS NULL
              AND lower(user_email) IN (
                  SELECT accounts.email
                  FROM webhook_endpoints AS endpoint
                  JOIN accounts ON accounts.id = endpoint.account_id
                  WHERE endpoint.is_on
              )
            ORDER BY id
        ) AS fresh;
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER email_snoozes_inserted
    AFTER INSERT ON email_snoozes
    REFERENCING NEW TABLE AS fresh
    FOR EACH STATEMENT
    EXECUTE FUNCTION email_snoozes_inserted();
