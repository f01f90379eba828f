-- The state of the mail that contains the reminders of these claimed promises, and how long to wait before the next
-- look: 'awaited' while the mail has no mark, and while the promise may become a member of a digest.
SELECT
    snooze.id AS snooze_id,
    send.id,
    CASE
        WHEN send.state IN ('sending', 'sent', 'uncertain') THEN send.state
        ELSE 'awaited'
    END AS state,
    COALESCE(send.resends, 0) AS resends,
    CASE
        WHEN send.state = 'uncertain' THEN GREATEST(
            GREATEST(
                send.uncertain_at + :hold,
                CASE
                    WHEN send.looks < :lookups
                        AND (
                            NOT :only_connected
                            OR snooze_reminder_is_sought(send.user_email, send.uncertain_at, :hold)
                        )
                    THEN COALESCE(send.looked_at, clock_timestamp()) + :lookup_interval
                END
            ) - clock_timestamp(),
            INTERVAL '1 second'
        )
        ELSE LEAST(
            GREATEST((clock_timestamp() - digest.gathered_at) / 2, INTERVAL '1 second'),
            INTERVAL '30 seconds'
        )
    END AS hold_left
FROM email_snoozes AS snooze
LEFT JOIN digest_members AS member
  ON member.snooze_id = snooze.id
 AND member.scheduled_for = snooze.scheduled_for
LEFT JOIN digests AS digest ON digest.id = member.digest_id
LEFT JOIN email_snoozes AS first ON first.id = digest.snooze_id
LEFT JOIN reminder_sends AS send
  ON send.snooze_id = digest.snooze_id
 AND send.scheduled_for = digest.scheduled_for
 AND send.channel = 'email'
WHERE snooze.id = ANY(:ids)
  AND (
      first.id IS NOT NULL
      OR snooze_may_be_gathered(snooze.user_email, snooze.id)
  )
