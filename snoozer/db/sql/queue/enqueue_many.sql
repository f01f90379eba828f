-- Snooze many messages that have no live snooze, all until the same time, as `enqueue` does with one.
-- In the order of their ids, and a message that was snoozed meanwhile is left as it is.
INSERT INTO email_snoozes (
    user_email, message_id, subject, sender_email, remind_at, snooze_duration_hours,
    note, recurrence, wall_time, zone, time_kind, traceparent,
    at_any_hour, reply_policy, reply_scope, reply_since
)
SELECT
    :user_email, message.message_id, message.subject, message.sender_email, :remind_at, :snooze_duration_hours,
    :note, CAST(:recurrence AS jsonb), :wall_time, :zone, :time_kind, :traceparent,
    :at_any_hour, CAST(:reply_policy AS text), CAST(:reply_scope AS text),
    CASE WHEN CAST(:reply_policy AS text) IS NOT NULL THEN CURRENT_TIMESTAMP END
FROM unnest(
    CAST(:message_ids AS text[]),
    CAST(:subjects AS text[]),
    CAST(:senders AS text[])
) AS message (message_id, subject, sender_email)
ORDER BY message.message_id
ON CONFLICT (user_email, message_id) WHERE NOT inactive DO NOTHING
RETURNING id, message_id
