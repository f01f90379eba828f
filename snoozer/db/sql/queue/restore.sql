-- Undo a cancellation by the owner, unless an operator dismissed the case or the message has a new live snooze. What
-- they brought back is put back by queue/put_back.sql alone: here it would be due at once.
-- Of replies, only those count that come from now on: one may be what had cancelled it.
UPDATE email_snoozes AS snooze
SET inactive = FALSE,
    behind_key = FALSE,
    outcome = NULL,
    finished_at = NULL,
    reply_since = CURRENT_TIMESTAMP,
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
  AND NOT EXISTS (
      SELECT 1
      FROM snooze_events AS dismissal
      WHERE dismissal.snooze_id = snooze.id
        AND dismissal.kind = 'dismissed'
  )
  AND NOT EXISTS (
      SELECT 1
      FROM snooze_events AS back
      WHERE back.snooze_id = snooze.id
        AND back.kind = 'back'
        AND back.detail -> 'after' ->> 'outcome' = 'cancelled'
        AND CAST(back.detail ->> 'promise' AS timestamptz) = COALESCE(snooze.scheduled_for, snooze.remind_at)
  )
RETURNING id
