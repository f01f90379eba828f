-- How long each reminder of one promise took, in seconds, and how many of them its person was promised.
SELECT
    extract(epoch FROM sent_at - scheduled_for)::float8 AS seconds,
    count(*) OVER (PARTITION BY user_email) AS of_person
FROM reminder_sends
WHERE state = 'sent'
  AND scheduled_for = :promise
ORDER BY sent_at
