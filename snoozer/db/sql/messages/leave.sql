-- Bring back all messages that lie in a Snoozer folder: the owner disconnects the mailbox.
UPDATE messages AS message
SET wanted = CASE message.wanted WHEN 'snoozed' THEN 'home' ELSE message.wanted END,
    returns_at = NULL,
    snooze_id = NULL,
    updated_at = CURRENT_TIMESTAMP
FROM mailboxes AS mailbox
WHERE message.mailbox_id = :mailbox_id
  AND mailbox.id = message.mailbox_id
  AND mailbox.fence = :fence
  AND mailbox.state = 'leaving'
  AND (message.wanted = 'snoozed' OR message.returns_at IS NOT NULL)
RETURNING message.id
