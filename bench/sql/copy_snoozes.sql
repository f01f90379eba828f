-- New snoozes, as many at once as a scratch database takes.
COPY email_snoozes (user_email, message_id, subject, sender_email, remind_at, zone) FROM STDIN
