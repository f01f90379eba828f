-- Give snoozes back what they were before an act on many of them, for their owner; `lock_chosen` has locked them.
-- Only those that nothing has changed since, and none that would become the second live one of its message, or whose
-- reminder would leave at once instead of at the time that they have now.
UPDATE email_snoozes AS snooze
SET remind_at = was.remind_at,
    scheduled_for = was.scheduled_for,
    snooze_duration_hours = was.snooze_duration_hours,
    note = was.note,
    recurrence = was.recurrence,
    wall_time = was.wall_time,
    zone = was.zone,
    time_kind = was.time_kind,
    at_any_hour = was.at_any_hour,
    deferred_until = was.deferred_until,
    deferred_by = was.deferred_by,
    reply_policy = was.reply_policy,
    reply_scope = was.reply_scope,
    reply_since = was.reply_since,
    attempts = was.attempts,
    crash_count = was.crash_count,
    last_error = was.last_error,
    last_error_at = was.last_error_at,
    inactive = was.inactive AND was.paused_by IS NULL,
    paused_by = NULL,
    outcome = NULL,
    finished_at = NULL,
    behind_key = FALSE,
    updated_at = CURRENT_TIMESTAMP
FROM jsonb_populate_recordset(CAST(NULL AS email_snoozes), CAST(:before AS jsonb)) AS was
WHERE snooze.id = was.id
  AND snooze.user_email = :user_email
  AND snooze.updated_at = :unchanged_since
  AND (snooze.outcome IS NULL OR snooze.outcome = 'cancelled')
  AND snooze.claimed_at IS NULL
  AND (snooze.outcome IS NOT NULL OR was.inactive OR was.remind_at > CURRENT_TIMESTAMP)
  AND (
      was.inactive
      OR NOT EXISTS (
          SELECT 1
          FROM email_snoozes AS other
          WHERE other.user_email = snooze.user_email
            AND other.message_id = snooze.message_id
            AND other.id <> snooze.id
            AND NOT other.inactive
      )
  )
RETURNING snooze.id, snooze.message_id
