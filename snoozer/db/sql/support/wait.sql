-- How late reminders were over the last hour, in seconds from the promise to the server's 250.
SELECT
    count(*) AS sent,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM sent_at - scheduled_for)) AS p50,
    percentile_cont(0.99) WITHIN GROUP (ORDER BY extract(epoch FROM sent_at - scheduled_for)) AS p99,
    max(extract(epoch FROM sent_at - scheduled_for)) AS max
FROM reminder_sends
WHERE state = 'sent'
  AND channel = 'email'
  AND sent_at > CURRENT_TIMESTAMP - INTERVAL '1 hour'
