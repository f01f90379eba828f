-- The ledger's entry for a claimed promise that has no mail of its own, and how long its hold still lasts. Without an
-- entry: whether the return of its message alone keeps the promise ('returned'), or is awaited, and for how long before
-- the next look.
SELECT
    send.id,
    send.state,
    send.resends,
    CASE WHEN send.state = 'uncertain' THEN GREATEST(
        GREATEST(
            send.uncertain_at + :hold,
            CASE
                WHEN send.looks < :lookups
                    AND (NOT :only_connected OR snooze_reminder_is_sought(send.user_email, send.uncertain_at, :hold))
                THEN COALESCE(send.looked_at, clock_timestamp()) + :lookup_interval
            END
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
UNION ALL
SELECT NULL, alone.state, 0, CASE WHEN alone.state = 'awaited' THEN LEAST(
    GREATEST((clock_timestamp() - snooze.scheduled_for) / 2, INTERVAL '1 second'),
    INTERVAL '30 seconds'
) END
FROM email_snoozes AS snooze
CROSS JOIN LATERAL snooze_return_alone(snooze.user_email, snooze.message_id, snooze.scheduled_for) AS alone (state)
WHERE snooze.id = :snooze_id
  AND alone.state IS NOT NULL
  AND NOT EXISTS (
      SELECT 1
      FROM reminder_sends AS send
      WHERE send.user_email = snooze.user_email
        AND send.message_id = snooze.message_id
        AND send.scheduled_for = snooze.scheduled_for
        AND send.channel = 'email'
  )
