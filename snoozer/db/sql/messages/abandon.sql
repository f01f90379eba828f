-- Record that the move did not happen: the messages are where they were.
UPDATE messages AS message
SET moving_to = NULL,
    target_folder = NULL,
    target_uidvalidity = NULL,
    target_uidnext = NULL,
    updated_at = CURRENT_TIMESTAMP
FROM mailboxes AS mailbox
WHERE message.id = ANY(:ids)
  AND mailbox.id = message.mailbox_id
  AND mailbox.fence = :fence
RETURNING message.id
