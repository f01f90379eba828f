-- Insert one snooze, as a plain application would without the API.
INSERT INTO email_snoozes (user_email, message_id, subject, remind_at)
VALUES (:user_email, :message_id, :subject, :remind_at)
RETURNING id
