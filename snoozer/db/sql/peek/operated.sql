-- What decides whether an operator's act on these snoozes is possible, with the state of the send of what each promises
-- now, also where that is in the archive; those that are gone are missing from the result.
SELECT
    snooze.id,
    snooze.user_email,
    snooze.message_id,
    snooze.outcome,
    snooze.finished_at,
    snooze.inactive,
    snooze.paused_by,
    snooze.claimed_by,
    snooze.remind_at,
    snooze_promise(snooze) AS promise,
    snooze.attempts,
    snooze.max_attempts,
    snooze.recurrence,
    snooze.zone,
    CASE
        WHEN send.state IS NOT NULL THEN send.state
        WHEN snooze_archived_send(
            snooze.user_email, snooze.message_id, snooze_promise(snooze)
        ) IS NOT NULL THEN 'sent'
    END AS send_state,
    send.uncertain_at,
    EXISTS (
        SELECT 1
        FROM email_snoozes AS other
        WHERE other.user_email = snooze.user_email
          AND other.message_id = snooze.message_id
          AND other.id <> snooze.id
          AND NOT other.inactive
    ) AS is_snoozed_again
FROM email_snoozes AS snooze
LEFT JOIN reminder_sends AS send
  ON send.user_email = snooze.user_email
 AND send.message_id = snooze.message_id
 AND send.scheduled_for = snooze_promise(snooze)
 AND send.channel = 'email'
WHERE snooze.id = ANY(:ids)
ORDER BY snooze.id
