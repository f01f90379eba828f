-- Finished snoozes, as queue/finalize leaves them.
COPY email_snoozes (
    user_email, message_id, subject, sender_email, remind_at, zone,
    scheduled_for, inactive, outcome, finished_at, updated_at
)
FROM STDIN
