-- Move these messages to `home` now and leave them there: only their reminders come (trigger messages_stay).
UPDATE messages AS message
SET returns = FALSE,
    place = 'snoozed',
    wanted = 'home',
    home = :home,
    updated_at = CURRENT_TIMESTAMP
FROM mailboxes AS mailbox
WHERE message.id = ANY(:ids)
  AND mailbox.id = message.mailbox_id
  AND mailbox.fence = :fence
  AND message.place <> 'missing'
  AND message.wanted = 'snoozed'
RETURNING message.id
