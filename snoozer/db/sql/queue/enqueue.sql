-- Insert a snooze, or edit the live snooze of the same person and message: snoozing twice is never an error.
-- An edit clears the claim, so a worker that holds the row loses it. What a reply does stays unless it is named anew;
-- replies count from when that was chosen.
INSERT INTO email_snoozes AS snooze (
    user_email, message_id, subject, sender_email, remind_at, snooze_duration_hours,
    note, recurrence, wall_time, zone, time_kind, traceparent,
    priority, max_attempts, serialization_key, at_any_hour, reply_policy, reply_scope, reply_since,
    reference
)
VALUES (
    :user_email, :message_id, :subject, :sender_email, :remind_at, :snooze_duration_hours,
    :note, CAST(:recurrence AS jsonb), :wall_time, :zone, :time_kind, :traceparent,
    COALESCE(:priority, 0), COALESCE(:max_attempts, 5), :serialization_key, :at_any_hour,
    CAST(:reply_policy AS text), CAST(:reply_scope AS text),
    CASE WHEN CAST(:reply_policy AS text) IS NOT NULL THEN CURRENT_TIMESTAMP END,
    CAST(:reference AS text)
)
ON CONFLICT (user_email, message_id) WHERE NOT inactive DO UPDATE
SET claimed_at = NULL,
    claimed_by = NULL,
    claim_token = NULL,
    lease_expires_at = NULL,
    attempts = 0,
    crash_count = 0,
    last_error = NULL,
    last_error_at = NULL,
    remind_at = EXCLUDED.remind_at,
    scheduled_for = NULL,
    deferred_until = NULL,
    deferred_by = NULL,
    behind_key = FALSE,
    snooze_duration_hours = EXCLUDED.snooze_duration_hours,
    note = EXCLUDED.note,
    recurrence = EXCLUDED.recurrence,
    wall_time = EXCLUDED.wall_time,
    zone = EXCLUDED.zone,
    time_kind = EXCLUDED.time_kind,
    traceparent = EXCLUDED.traceparent,
    priority = COALESCE(:priority, snooze.priority),
    max_attempts = COALESCE(:max_attempts, snooze.max_attempts),
    serialization_key = COALESCE(:serialization_key, snooze.serialization_key),
    at_any_hour = EXCLUDED.at_any_hour,
    reference = COALESCE(EXCLUDED.reference, snooze.reference),
    reply_policy = COALESCE(EXCLUDED.reply_policy, snooze.reply_policy),
    reply_scope = COALESCE(EXCLUDED.reply_scope, snooze.reply_scope),
    reply_since = CASE
        WHEN EXCLUDED.reply_policy <> COALESCE(snooze.reply_policy, 'keep')
            OR EXCLUDED.reply_scope <> COALESCE(snooze.reply_scope, 'message')
        THEN CURRENT_TIMESTAMP
        ELSE snooze.reply_since
    END,
    updated_at = CURRENT_TIMESTAMP
RETURNING snooze.id, xmax = 0 AS created
