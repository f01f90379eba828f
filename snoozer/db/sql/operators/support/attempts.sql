-- Attempts of the last hour: how many reminders were sent, failed and are tried again, and became cases; and the share of
-- the attempts that failed and are made again, NULL if none was made.
SELECT
    made.sent,
    made.retried,
    made.failed,
    CAST(made.retried AS double precision) / NULLIF(made.sent + made.retried + made.failed, 0) AS retry_rate
FROM (
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
        ) AS failed
) AS made
