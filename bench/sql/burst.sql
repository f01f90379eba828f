-- How long each reminder due at one instant took, in seconds, and how many of them its person has.
SELECT
    extract(epoch FROM sent_at - scheduled_for)::float8 AS seconds,
    count(*) OVER (PARTITION BY user_email) AS of_person
FROM reminder_sends
WHERE state = 'sent'
  AND scheduled_for = :due
ORDER BY sent_at
