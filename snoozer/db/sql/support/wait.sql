-- How late reminders are, in seconds from the promise: those sent in the last hour, and those that wait and should have come.
-- Late is counted as in bands.sql. What is still to come is neither, however much of it there is.
WITH waiting AS MATERIALIZED (
    SELECT GREATEST(COALESCE(scheduled_for, remind_at), deferred_until) AS promise
    FROM email_snoozes
    WHERE NOT inactive
      AND claimed_at IS NULL
      AND remind_at <= CURRENT_TIMESTAMP
    UNION ALL
    SELECT GREATEST(scheduled_for, deferred_until)
    FROM email_snoozes
    WHERE NOT inactive
      AND claimed_at IS NULL
      AND scheduled_for IS NOT NULL
      AND remind_at > CURRENT_TIMESTAMP
    UNION ALL
    SELECT GREATEST(scheduled_for, deferred_until)
    FROM email_snoozes
    WHERE claimed_at IS NOT NULL
),
late AS MATERIALIZED (
    SELECT 'waits' AS what, CAST(extract(epoch FROM CURRENT_TIMESTAMP - promise) AS double precision) AS seconds
    FROM waiting
    WHERE promise <= CURRENT_TIMESTAMP
    UNION ALL
    SELECT
        'sent',
        CAST(extract(epoch FROM send.sent_at - GREATEST(send.scheduled_for, snooze.deferred_until)) AS double precision)
    FROM reminder_sends AS send
    LEFT JOIN email_snoozes AS snooze
      ON snooze.id = send.snooze_id
     AND snooze.scheduled_for = send.scheduled_for
    WHERE send.state = 'sent'
      AND send.channel = 'email'
      AND send.sent_at > CURRENT_TIMESTAMP - INTERVAL '1 hour'
)
SELECT
    kind.what,
    count(late.seconds) AS reminders,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY late.seconds) AS p50,
    percentile_cont(0.99) WITHIN GROUP (ORDER BY late.seconds) AS p99,
    max(late.seconds) AS max
FROM (VALUES ('sent'), ('waits')) AS kind (what)
LEFT JOIN late ON late.what = kind.what
GROUP BY kind.what
ORDER BY kind.what
