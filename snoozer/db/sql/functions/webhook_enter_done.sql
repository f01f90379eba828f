-- Enter `done` for a message of the person.
CREATE OR REPLACE FUNCTION webhook_enter_done(person text, message text, snooze bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM webhook_endpoints WHERE is_on) THEN
        RETURN;
    END IF;
    PERFORM webhook_enter(
        person, 'done', send.snooze_id, COALESCE(jsonb_typeof(its.recurrence), 'null') <> 'null', send.scheduled_for,
        NULL, its.reference, its.subject
    )
    FROM (
        SELECT reminder_sends.snooze_id, reminder_sends.scheduled_for
        FROM reminder_sends
        WHERE reminder_sends.user_email = person
          AND reminder_sends.message_id = message
          AND (snooze IS NULL OR reminder_sends.snooze_id = snooze)
        ORDER BY reminder_sends.scheduled_for DESC
        LIMIT 1
    ) AS send
    JOIN email_snoozes AS its ON its.id = send.snooze_id;
END
$$;
