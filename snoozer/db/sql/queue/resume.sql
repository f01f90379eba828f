-- Resume a paused snooze for its owner, with fresh attempts, at `remind_at`: its promise, or a later one.
-- Of replies, only those count that come from now on. While the message has another live snooze it stays paused.
UPDATE email_snoozes AS snooze
SET inactive = FALSE,
    attempts = 0,
    crash_count = 0,
    last_error = NULL,
    last_error_at = NULL,
    remind_at = :remind_at,
    scheduled_for = NULL,
    deferred_until = NULL,
    deferred_by = NULL,
    behind_key = FALSE,
    reply_since = CURRENT_TIMESTAMP,
    updated_at = CURRENT_TIMESTAMP
WHERE id = :id
  AND user_email = :user_email
  AND inactive
  AND outcome IS NULL
  AND NOT EXISTS (
      SELECT 1
      FROM email_snoozes AS other
      WHERE other.user_email = snooze.user_email
        AND other.message_id = snooze.message_id
        AND NOT other.inactive
  )
RETURNING id
