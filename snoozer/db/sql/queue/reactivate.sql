-- Return cases to the queue with fresh attempts, by an operator; nothing but a case is changed.
-- A case stays closed where its message has a live snooze; of several cases of one message only the newest returns.
UPDATE email_snoozes AS snooze
SET attempts = 0,
    crash_count = 0,
    remind_at = GREATEST(remind_at, CURRENT_TIMESTAMP),
    inactive = FALSE,
    behind_key = FALSE,
    outcome = NULL,
    finished_at = NULL,
    updated_at = CURRENT_TIMESTAMP
WHERE id = ANY(:ids)
  AND outcome = 'retired'
  AND NOT EXISTS (
      SELECT 1
      FROM email_snoozes AS other
      WHERE other.user_email = snooze.user_email
        AND other.message_id = snooze.message_id
        AND NOT other.inactive
  )
  AND NOT EXISTS (
      SELECT 1
      FROM email_snoozes AS twin
      WHERE twin.user_email = snooze.user_email
        AND twin.message_id = snooze.message_id
        AND twin.outcome = 'retired'
        AND twin.id = ANY(:ids)
        AND twin.id > snooze.id
  )
RETURNING id
