-- Lock the message of a snooze, kept here and in a connected mailbox, after that snooze and before one is inserted or
-- revived: acts on many take them in this order, too.
SELECT id
FROM messages
WHERE user_email = :user_email
  AND message_id = :message_id
ORDER BY is_kept DESC, id
FOR NO KEY UPDATE
