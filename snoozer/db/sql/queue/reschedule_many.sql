-- Change the time of many live snoozes for their owner, as `reschedule` does with one; `lock_chosen` has locked them.
-- Each keeps its note unless a new one is given. What is paused stays as it is, with its repetition.
UPDATE email_snoozes
SET claimed_at = NULL,
    claimed_by = NULL,
    claim_token = NULL,
    lease_expires_at = NULL,
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
    note = COALESCE(CAST(:note AS text), note),
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
WHERE id = ANY(:ids)
  AND user_email = :user_email
  AND outcome IS NULL
  AND NOT inactive
RETURNING id, message_id
