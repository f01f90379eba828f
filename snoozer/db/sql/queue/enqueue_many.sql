-- Insert snoozes of messages that have no live one; a message that another transaction has just snoozed is missing from
-- the result. Imported ones have their own creation time, and may be `inactive`.
INSERT INTO email_snoozes (
    user_email, message_id, subject, sender_email, remind_at, snooze_duration_hours, note, recurrence, wall_time, zone,
    time_kind, at_any_hour, reply_policy, reply_scope, reply_since, priority, max_attempts, serialization_key, reference,
    traceparent, inactive, created_at
)
SELECT
    :user_email, term.message_id, term.subject, term.sender_email, term.remind_at,
    CAST(given.terms ->> 'duration_hours' AS integer), term.note, NULLIF(term.recurrence, 'null'), term.wall_time,
    term.zone, term.time_kind, COALESCE(term.at_any_hour, FALSE), term.reply_policy, term.reply_scope,
    CASE WHEN term.reply_policy IS NOT NULL THEN CURRENT_TIMESTAMP END, COALESCE(term.priority, 0),
    COALESCE(term.max_attempts, 5), term.serialization_key, term.reference, :traceparent,
    COALESCE(term.inactive, FALSE), COALESCE(term.created_at, CURRENT_TIMESTAMP)
FROM jsonb_array_elements(CAST(:terms AS jsonb)) AS given (terms)
CROSS JOIN LATERAL jsonb_populate_record(CAST(NULL AS email_snoozes), given.terms) AS term
ORDER BY term.message_id
ON CONFLICT (user_email, message_id) WHERE NOT inactive DO NOTHING
RETURNING id, message_id
