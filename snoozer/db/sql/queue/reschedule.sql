-- Change the time or note of a live snooze for its owner: a new promise with fresh attempts.
-- The claim is cleared, so a worker that holds the row loses it. What a reply does stays unless it is named anew.
-- A paused one goes on with another time, and stays paused with the one that it has. What operators have set aside goes on,
-- and is set aside again at its next claim while the pause lasts.
UPDATE email_snoozes
SET claimed_at = NULL,
    claimed_by = NULL,
    claim_token = NULL,
    lease_expires_at = NULL,
    inactive = inactive AND paused_by IS NULL AND COALESCE(scheduled_for, remind_at) = :remind_at,
    attempts = 0,
    crash_count = 0,
    last_error = NULL,
    last_error_at = NULL,
    remind_at = :remind_at,
    scheduled_for = NULL,
    deferred_until = NULL,
    deferred_by = NULL,
    behind_key = FALSE,
    snooze_duration_hours = :snooze_duration_hours,
    note = :note,
    recurrence = CAST(:recurrence AS jsonb),
    wall_time = :wall_time,
    zone = :zone,
    time_kind = :time_kind,
    at_any_hour = :at_any_hour,
    reply_policy = COALESCE(CAST(:reply_policy AS text), reply_policy),
    reply_scope = COALESCE(CAST(:reply_scope AS text), reply_scope),
    reply_since = CASE
        WHEN CAST(:reply_policy AS text) <> COALESCE(reply_policy, 'keep')
            OR CAST(:reply_scope AS text) <> COALESCE(reply_scope, 'message')
        THEN CURRENT_TIMESTAMP
        ELSE reply_since
    END,
    updated_at = CURRENT_TIMESTAMP
WHERE id = :id
  AND user_email = :user_email
  AND outcome IS NULL
RETURNING id
