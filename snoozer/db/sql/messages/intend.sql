-- Record that these messages are about to be moved, and the next UID of the target.
UPDATE messages AS message
SET moving_to = :moving_to,
    target_folder = :target_folder,
    target_uidvalidity = :target_uidvalidity,
    target_uidnext = :target_uidnext,
    updated_at = CURRENT_TIMESTAMP
FROM mailboxes AS mailbox
WHERE message.id = ANY(:ids)
  AND mailbox.id = message.mailbox_id
  AND mailbox.fence = :fence
  AND message.place <> 'missing'
RETURNING message.id
