-- The newest fifty of a person, as a plain page would read them.
SELECT id, message_id, subject, remind_at
FROM email_snoozes
WHERE user_email = :user_email
ORDER BY id DESC
LIMIT 50
