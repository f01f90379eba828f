-- Finish cases, and what waits, whose reminders were sent, as the ledger says. What repeats is due at once instead: the
-- next claim finds it sent and promises its next occurrence, unless the message was snoozed again.
UPDATE email_snoozes AS snooze
SET attempts = 0,
    crash_count = 0,
    remind_at = GREATEST(LEAST(snooze.remind_at, CURRENT_TIMESTAMP), snooze.scheduled_for),
    inactive = kind.is_last,
    behind_key = FALSE,
    outcome = CASE WHEN kind.is_last THEN 'sent' END,
    finished_at = CASE WHEN kind.is_last THEN CURRENT_TIMESTAMP END,
    updated_at = CURRENT_TIMESTAMP
FROM (
    SELECT id, COALESCE(jsonb_typeof(recurrence), 'null') = 'null' AS is_last
    FROM email_snoozes
    WHERE id = ANY(:ids)
) AS kind
WHERE snooze.id = kind.id
  AND snooze.claimed_at IS NULL
  AND (snooze.outcome = 'retired' OR (snooze.outcome IS NULL AND NOT snooze.inactive))
  AND EXISTS (
      SELECT 1
      FROM reminder_sends AS send
      WHERE send.user_email = snooze.user_email
        AND send.message_id = snooze.message_id
        AND send.scheduled_for = snooze.scheduled_for
        AND send.channel = 'email'
        AND send.state = 'sent'
  )
  AND (
      kind.is_last
      OR NOT EXISTS (
          SELECT 1
          FROM email_snoozes AS other
          WHERE other.user_email = snooze.user_email
            AND other.message_id = snooze.message_id
            AND other.id <> snooze.id
            AND NOT other.inactive
      )
  )
  AND snooze_keeps('promise')
RETURNING snooze.id
