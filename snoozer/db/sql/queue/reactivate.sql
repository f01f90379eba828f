-- Return cases to the queue with fresh attempts, by an operator; nothing but a case is changed, and none whose reminder
-- was sent, as the ledger or its archive knows.
-- A case stays closed where its message has a live snooze; of several cases of one message only the newest returns, also
-- where the newer one is another member of the same operation, whose turn is still to come.
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
      FROM reminder_sends AS send
      WHERE send.user_email = snooze.user_email
        AND send.message_id = snooze.message_id
        AND send.scheduled_for = snooze_promise(snooze)
        AND send.channel = 'email'
        AND send.state = 'sent'
  )
  AND snooze_archived_send(snooze.user_email, snooze.message_id, snooze_promise(snooze)) IS NULL
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
  AND NOT EXISTS (
      SELECT 1
      FROM email_snoozes AS newer
      JOIN operation_members AS member ON member.snooze_id = newer.id
      WHERE md5(newer.message_id) = md5(snooze.message_id)
        AND newer.message_id = snooze.message_id
        AND newer.user_email = snooze.user_email
        AND newer.outcome = 'retired'
        AND newer.id > snooze.id
        AND member.operation_id = CAST(:operation_id AS bigint)
  )
  AND snooze_keeps('promise')
RETURNING id
