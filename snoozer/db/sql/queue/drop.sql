-- Drop reminders that are uncertain, by an operator: they are not sent again. What repeats goes on with its next
-- occurrence, unless the message was snoozed again; the rest is closed. `ledger.drop` ends the entries.
UPDATE email_snoozes AS snooze
SET remind_at = COALESCE(given.next_time, snooze.remind_at),
    inactive = given.next_time IS NULL,
    outcome = CASE WHEN given.next_time IS NULL THEN 'cancelled' END,
    finished_at = CASE WHEN given.next_time IS NULL THEN CURRENT_TIMESTAMP END,
    updated_at = CURRENT_TIMESTAMP
FROM unnest(CAST(:ids AS bigint[]), CAST(:next_times AS timestamptz[])) AS given (id, next_time)
WHERE snooze.id = given.id
  AND snooze_keeps('clock')
  AND snooze.claimed_at IS NULL
  AND (snooze.outcome = 'retired' OR (snooze.outcome IS NULL AND NOT snooze.inactive))
  AND EXISTS (
      SELECT 1
      FROM reminder_sends AS send
      WHERE send.user_email = snooze.user_email
        AND send.message_id = snooze.message_id
        AND send.scheduled_for = snooze.scheduled_for
        AND send.channel = 'email'
        AND send.state = 'uncertain'
  )
  AND (
      given.next_time IS NULL
      OR NOT EXISTS (
          SELECT 1
          FROM email_snoozes AS other
          WHERE other.user_email = snooze.user_email
            AND other.message_id = snooze.message_id
            AND other.id <> snooze.id
            AND NOT other.inactive
      )
  )
RETURNING snooze.id
