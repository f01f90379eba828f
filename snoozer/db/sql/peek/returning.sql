-- Find the snoozes whose message returns to a mailbox by now, here or in a connected one.
SELECT snooze.id
FROM email_snoozes AS snooze
WHERE snooze.id = ANY(:ids)
  AND EXISTS (
      SELECT 1
      FROM messages AS message
      WHERE message.user_email = snooze.user_email
        AND message.message_id = snooze.message_id
        AND message.snooze_id = snooze.id
        AND message.returns_at <= CURRENT_TIMESTAMP
  )
