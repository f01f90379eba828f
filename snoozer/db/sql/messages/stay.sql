-- Of these messages only the reminders come: they are moved to `home` now, and stay there (trigger messages_stay).
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
