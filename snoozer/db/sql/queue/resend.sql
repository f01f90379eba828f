-- Let snoozes whose reminders are uncertain be sent again at once, by an operator; `ledger.resend` opens the entries.
-- Cases go back to the queue with fresh attempts, unless the message was snoozed again. What was sent is not among them.
-- Of several uncertain cases of one message only the newest goes back, also where that is another member of the same
-- operation, whose turn is still to come.
UPDATE email_snoozes AS snooze
SET attempts = 0,
    crash_count = 0,
    remind_at = GREATEST(LEAST(snooze.remind_at, CURRENT_TIMESTAMP), snooze.scheduled_for),
    inactive = FALSE,
    behind_key = FALSE,
    outcome = NULL,
    finished_at = NULL,
    updated_at = CURRENT_TIMESTAMP
WHERE id = ANY(:ids)
  AND claimed_at IS NULL
  AND (outcome = 'retired' OR (outcome IS NULL AND NOT inactive))
  AND EXISTS (
      SELECT 1
      FROM reminder_sends AS send
      WHERE send.user_email = snooze.user_email
        AND send.message_id = snooze.message_id
        AND send.scheduled_for = snooze.scheduled_for
        AND send.channel = 'email'
        AND send.state = 'uncertain'
  )
  AND NOT EXISTS (
      SELECT 1
      FROM email_snoozes AS other
      WHERE other.user_email = snooze.user_email
        AND other.message_id = snooze.message_id
        AND other.id <> snooze.id
        AND NOT other.inactive
  )
  AND (
      outcome IS NULL
      OR NOT EXISTS (
          SELECT 1
          FROM email_snoozes AS newer
          JOIN reminder_sends AS send
            ON send.user_email = newer.user_email
           AND send.message_id = newer.message_id
           AND send.scheduled_for = newer.scheduled_for
          WHERE md5(newer.message_id) = md5(snooze.message_id)
            AND newer.message_id = snooze.message_id
            AND newer.user_email = snooze.user_email
            AND newer.outcome = 'retired'
            AND newer.id > snooze.id
            AND send.channel = 'email'
            AND send.state = 'uncertain'
            AND (
                newer.id = ANY(:ids)
                OR EXISTS (
                    SELECT 1
                    FROM operation_members AS member
                    WHERE member.operation_id = CAST(:operation_id AS bigint)
                      AND member.snooze_id = newer.id
                )
            )
      )
  )
  AND snooze_keeps('promise')
RETURNING id
