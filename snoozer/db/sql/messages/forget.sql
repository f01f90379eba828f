-- Forget a message that was taken out of the snoozed folder, or deleted: its owner handles it from now on.
DELETE FROM messages AS message
USING mailboxes AS mailbox
WHERE message.id = :id
  AND mailbox.id = message.mailbox_id
  AND mailbox.fence = :fence
RETURNING message.id
