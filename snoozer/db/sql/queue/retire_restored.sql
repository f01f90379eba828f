-- After a restore or a failover, retire snoozes that this transaction has locked, because they may have been sent since
-- the copy was made; returns them with their reminder's Message-ID.
-- If :sent is not NULL, only snoozes whose Message-ID it has.
-- Their claims are cleared, and sends they had marked become uncertain. Recurring snoozes are only reported: retiring
-- one would end its series.
WITH chosen AS MATERIALIZED (
    SELECT
        id,
        claim_token,
        snooze_promise(snooze) AS promise,
        COALESCE(jsonb_typeof(recurrence), 'null') <> 'null' AS repeats,
        snooze_reminder_name(
            id, user_email, message_id, snooze_promise(snooze), CAST(:domain AS text)
        ) AS reminder_message_id
    FROM email_snoozes AS snooze
    WHERE id = ANY(:ids)
),
due AS MATERIALIZED (
    SELECT *
    FROM chosen
    WHERE CAST(:sent AS text[]) IS NULL
       OR reminder_message_id = ANY(CAST(:sent AS text[]))
),
marked_uncertain AS (
    UPDATE reminder_sends AS send
    SET state = 'uncertain',
        uncertain_at = clock_timestamp()
    FROM due
    WHERE send.snooze_id = due.id
      AND send.claim_token = due.claim_token
      AND send.state = 'sending'
      AND NOT due.repeats
),
retired AS (
    UPDATE email_snoozes AS snooze
    SET scheduled_for = due.promise,
        claimed_at = NULL,
        claimed_by = NULL,
        claim_token = NULL,
        lease_expires_at = NULL,
        last_error = :error,
        last_error_at = CURRENT_TIMESTAMP,
        inactive = TRUE,
        outcome = 'retired',
        finished_at = CURRENT_TIMESTAMP,
        updated_at = CURRENT_TIMESTAMP
    FROM due
    WHERE snooze.id = due.id
      AND NOT due.repeats
)
SELECT id, promise, repeats, reminder_message_id
FROM due
ORDER BY id
