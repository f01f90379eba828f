-- An operator sends cases back to work, with fresh attempts. A case whose message was put away anew stays closed,
-- and nothing but a case is touched.
UPDATE email_snoozes AS snooze
SET attempts = 0,
    crash_count = 0,
    remind_at = GREATEST(remind_at, CURRENT_TIMESTAMP),
    inactive = FALSE,
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
