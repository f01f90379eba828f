-- The message is its owner's business again: it was taken out of the folder of what is snoozed, or deleted.
DELETE FROM messages AS message
USING mailboxes AS mailbox
WHERE message.id = :id
  AND mailbox.id = message.mailbox_id
  AND mailbox.fence = :fence
RETURNING message.id
