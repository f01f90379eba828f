-- Lock kept messages of their owner, in the order of their ids. `was` is what `put_back` takes; `is_back` is true if no
-- snooze is going to return the message.
SELECT
    id,
    message_id,
    subject,
    sender_email,
    returns_at IS NULL AS is_back,
    jsonb_build_object('id', id, 'message_id', message_id, 'folder', folder, 'unread', unread, 'returned', returned) AS was
FROM messages
WHERE is_kept
  AND user_email = :user_email
  AND message_id = ANY(:message_ids)
ORDER BY id
FOR NO KEY UPDATE
