-- What a program of its own would do in place of the API: one INSERT.
INSERT INTO email_snoozes (user_email, message_id, subject, remind_at)
VALUES (:user_email, :message_id, :subject, :remind_at)
RETURNING id
