-- Undo what its owner did to a snooze: its promise, its terms, and whether it is paused are as they were. Only while it
-- is exactly as that had left it (the binds that end in `_now`), and the message has no other live snooze.
-- The claim is cleared, so a worker that holds the row loses it. Of replies, only those count that come from now on.
UPDATE email_snoozes AS snooze
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
    recurrence = CAST(:recurrence AS jsonb),
    wall_time = CAST(:wall_time AS timestamp),
    zone = CAST(:zone AS text),
    time_kind = CAST(:time_kind AS text),
    at_any_hour = :at_any_hour,
    inactive = CAST(:paused AS boolean),
    paused_by = NULL,
    outcome = NULL,
    finished_at = NULL,
    reply_since = CURRENT_TIMESTAMP,
    updated_at = CURRENT_TIMESTAMP
WHERE id = :id
  AND user_email = :user_email
  AND COALESCE(scheduled_for, remind_at) = :remind_at_now
  AND recurrence IS NOT DISTINCT FROM CAST(:recurrence_now AS jsonb)
  AND zone IS NOT DISTINCT FROM CAST(:zone_now AS text)
  AND (inactive AND outcome IS NULL AND paused_by IS NULL) = CAST(:paused_now AS boolean)
  AND outcome IS NOT DISTINCT FROM CAST(:outcome_now AS text)
  AND (outcome IS NULL OR outcome = 'cancelled')
  AND NOT EXISTS (
      SELECT 1
      FROM email_snoozes AS other
      WHERE other.user_email = snooze.user_email
        AND other.message_id = snooze.message_id
        AND other.id <> snooze.id
        AND NOT other.inactive
  )
  AND NOT EXISTS (
      SELECT 1
      FROM snooze_events AS dismissal
      WHERE dismissal.snooze_id = snooze.id
        AND dismissal.kind = 'dismissed'
  )
RETURNING id
