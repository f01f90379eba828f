-- Undo a cancellation. Not when the same message has been put away anew since.
UPDATE email_snoozes AS snooze
SET inactive = FALSE,
    outcome = NULL,
    finished_at = NULL,
    updated_at = CURRENT_TIMESTAMP
WHERE id = :id
  AND user_email = :user_email
  AND outcome = 'cancelled'
  AND NOT EXISTS (
      SELECT 1
      FROM email_snoozes AS other
      WHERE other.user_email = snooze.user_email
        AND other.message_id = snooze.message_id
        AND NOT other.inactive
  )
RETURNING id
