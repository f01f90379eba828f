-- Attempts of the last hour: how many reminders were sent, failed and are tried again, and became cases; and of the last
-- minutes, how many were sent in the last seconds, and how long the mail server took to take one, by its newest replies.
SELECT
    (
        SELECT count(*)
        FROM reminder_sends
        WHERE state = 'sent'
          AND channel = 'email'
          AND sent_at > CURRENT_TIMESTAMP - INTERVAL '1 hour'
    ) AS sent,
    (
        SELECT count(*)
        FROM snooze_events
        WHERE kind = 'failed'
          AND at > CURRENT_TIMESTAMP - INTERVAL '1 hour'
    ) AS retried,
    (
        SELECT count(*)
        FROM snooze_events
        WHERE kind = 'retired'
          AND at > CURRENT_TIMESTAMP - INTERVAL '1 hour'
    ) AS failed,
    (
        SELECT count(*)
        FROM reminder_sends
        WHERE state = 'sent'
          AND channel = 'email'
          AND sent_at > CURRENT_TIMESTAMP - CAST(:just_now AS interval)
    ) AS just_sent,
    (
        SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds)
        FROM (
            SELECT CAST(extract(epoch FROM sent_at - dot_authorised_at) AS double precision) AS seconds
            FROM reminder_sends
            WHERE state = 'sent'
              AND channel = 'email'
              AND sent_at > CURRENT_TIMESTAMP - INTERVAL '1 minute'
              AND resolution IS NULL
            ORDER BY sent_at DESC
            LIMIT 100
        ) AS newest
    ) AS reply_seconds
