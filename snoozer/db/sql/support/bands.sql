-- How late reminders are: of what waits and should have come, and of what was sent in the last hour, in four bands.
-- Late is counted from the promise, or from the end of the rest that deferred it. What is paused is not late; of what waits
-- the `most` + 1 that are due the longest are counted.
WITH waiting AS MATERIALIZED (
    (
        SELECT GREATEST(COALESCE(scheduled_for, remind_at), deferred_until) AS promise
        FROM email_snoozes
        WHERE NOT inactive
          AND claimed_at IS NULL
          AND remind_at <= CURRENT_TIMESTAMP
        ORDER BY remind_at
        LIMIT CAST(:most AS bigint) + 1
    )
    UNION ALL
    (
        SELECT GREATEST(scheduled_for, deferred_until)
        FROM email_snoozes
        WHERE NOT inactive
          AND claimed_at IS NULL
          AND scheduled_for IS NOT NULL
          AND remind_at > CURRENT_TIMESTAMP
        ORDER BY remind_at
        LIMIT CAST(:most AS bigint) + 1
    )
    UNION ALL
    SELECT GREATEST(COALESCE(scheduled_for, remind_at), deferred_until)
    FROM email_snoozes
    WHERE claimed_at IS NOT NULL
),
late AS MATERIALIZED (
    SELECT 'waits' AS what, CURRENT_TIMESTAMP - promise AS lateness
    FROM waiting
    WHERE promise <= CURRENT_TIMESTAMP
    UNION ALL
    SELECT 'sent', send.sent_at - GREATEST(send.scheduled_for, snooze.deferred_until)
    FROM reminder_sends AS send
    LEFT JOIN email_snoozes AS snooze
      ON snooze.id = send.snooze_id
     AND snooze.scheduled_for = send.scheduled_for
    WHERE send.state = 'sent'
      AND send.channel = 'email'
      AND send.sent_at > CURRENT_TIMESTAMP - INTERVAL '1 hour'
)
SELECT
    band.name AS band,
    count(*) FILTER (WHERE late.what = 'waits') AS waits,
    count(*) FILTER (WHERE late.what = 'sent') AS sent
FROM (
    VALUES
        (1, '≤ 10 s', INTERVAL '-1 year', INTERVAL '10 seconds'),
        (2, '≤ 60 s', INTERVAL '10 seconds', INTERVAL '60 seconds'),
        (3, '≤ 30 min', INTERVAL '60 seconds', INTERVAL '30 minutes'),
        (4, 'more', INTERVAL '30 minutes', INTERVAL '1000 years')
) AS band (position, name, above, up_to)
LEFT JOIN late
  ON late.lateness > band.above
 AND late.lateness <= band.up_to
GROUP BY band.position, band.name
ORDER BY band.position
