-- Lock messages of connected mailboxes that their owner has chosen, in the order of their ids; `want_back` takes them.
-- `is_back` is true if no snooze is going to return the message.
SELECT id, message_id, wanted, place, returns_at IS NULL AS is_back
FROM messages
WHERE NOT is_kept
  AND user_email = :user_email
  AND message_id = ANY(:message_ids)
ORDER BY id
FOR NO KEY UPDATE
