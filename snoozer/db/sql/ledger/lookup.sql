-- The ledger's entry for a claimed promise that could not be reserved, and how long its hold still lasts.
SELECT
    send.id,
    send.state,
    send.resends,
    CASE WHEN send.state = 'uncertain' THEN GREATEST(
        GREATEST(
            send.uncertain_at + :hold,
            CASE WHEN send.looks < :lookups THEN COALESCE(send.looked_at, clock_timestamp()) + :lookup_interval END
        ) - clock_timestamp(),
        INTERVAL '1 second'
    ) END AS hold_left
FROM reminder_sends AS send
JOIN email_snoozes AS snooze
  ON snooze.user_email = send.user_email
 AND snooze.message_id = send.message_id
 AND snooze.scheduled_for = send.scheduled_for
WHERE snooze.id = :snooze_id
  AND send.channel = 'email'
UNION ALL
SELECT archived.id, 'sent', 0, NULL
FROM email_snoozes AS snooze
CROSS JOIN LATERAL snooze_archived_send(snooze.user_email, snooze.message_id, snooze.scheduled_for) AS archived (id)
WHERE snooze.id = :snooze_id
  AND archived.id IS NOT NULL
