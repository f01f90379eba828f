-- Forget messages that only had to be given back, and are back: they belong to no snooze, and have ids of this domain.
DELETE FROM messages AS message
USING mailboxes AS mailbox
WHERE message.mailbox_id = :mailbox_id
  AND mailbox.id = message.mailbox_id
  AND mailbox.fence = :fence
  AND message.place = 'home'
  AND message.moving_to IS NULL
  AND message.returns_at IS NULL
  AND message.message_id LIKE '%@' || :domain || '>'
