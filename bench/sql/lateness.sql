-- How late the mail server's 250 was recorded, in milliseconds, for reminders due from an instant on.
SELECT extract(epoch FROM sent_at - scheduled_for)::float8 * 1000 AS milliseconds
FROM reminder_sends
WHERE state = 'sent'
  AND scheduled_for >= :since
ORDER BY sent_at - scheduled_for
