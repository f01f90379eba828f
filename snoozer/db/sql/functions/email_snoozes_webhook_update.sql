-- Webhooks learn that a snooze is due, edited, cancelled or stuck.
CREATE OR REPLACE FUNCTION email_snoozes_webhook_update() RETURNS trigger
    LANGUAGE plpgsql
    SECURITY DEFINER
    SET search_path FROM CURRENT
    AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM webhook_endpoints WHERE is_on) THEN
        RETURN NULL;
    END IF;
    PERFORM webhook_enter(
        changed.user_email, changed.event, changed.id, COALESCE(jsonb_typeof(changed.recurrence), 'null') <> 'null',
        COALESCE(changed.scheduled_for, changed.remind_at), changed.remind_at, changed.reference, changed.subject
    )
    FROM (
        SELECT
            fresh.*,
            CASE
                WHEN fresh.outcome IS DISTINCT FROM gone.outcome THEN
                    CASE
                        WHEN fresh.outcome = 'cancelled' THEN 'cancelled'
                        WHEN fresh.outcome = 'retired' THEN 'stuck'
                        WHEN fresh.outcome IS NULL THEN 'edited'
                    END
                WHEN fresh.outcome IS NOT NULL THEN NULL
                WHEN fresh.claimed_at IS NOT NULL AND gone.claimed_at IS NULL THEN 'due'
                -- A recurring snooze that was sent gets its next promise: not an edit.
                WHEN fresh.recurrence IS NOT NULL
                    AND gone.claimed_at IS NOT NULL
                    AND fresh.remind_at > gone.scheduled_for
                    AND fresh.recurrence = gone.recurrence
                    AND EXISTS (
                        SELECT 1
                        FROM reminder_sends AS send
                        WHERE send.user_email = gone.user_email
                          AND send.message_id = gone.message_id
                          AND send.scheduled_for = gone.scheduled_for
                          AND send.state = 'sent'
                    )
                    THEN NULL
                WHEN (
                    COALESCE(fresh.scheduled_for, fresh.remind_at), fresh.recurrence, fresh.subject, fresh.note,
                    fresh.reference, fresh.reply_policy, fresh.reply_scope, fresh.at_any_hour,
                    fresh.inactive AND fresh.paused_by IS NULL
                ) IS DISTINCT FROM (
                    COALESCE(gone.scheduled_for, gone.remind_at), gone.recurrence, gone.subject, gone.note,
                    gone.reference, gone.reply_policy, gone.reply_scope, gone.at_any_hour,
                    gone.inactive AND gone.paused_by IS NULL
                ) THEN 'edited'
            END AS event
        FROM fresh
        JOIN gone ON gone.id = fresh.id
        WHERE lower(fresh.user_email) IN (
            SELECT accounts.email
            FROM webhook_endpoints AS endpoint
            JOIN accounts ON accounts.id = endpoint.account_id
            WHERE endpoint.is_on
        )
        ORDER BY fresh.id
    ) AS changed
    WHERE changed.event IS NOT NULL;
    RETURN NULL;
END
$$;

REVOKE ALL ON FUNCTION email_snoozes_webhook_update() FROM PUBLIC;

CREATE OR REPLACE TRIGGER email_snoozes_webhook_update
    AFTER UPDATE ON email_snoozes
    REFERENCING OLD TABLE AS gone NEW TABLE AS fresh
    FOR EACH STATEMENT
    EXECUTE FUNCTION email_snoozes_webhook_update();
