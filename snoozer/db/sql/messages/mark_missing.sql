-- Record that messages are not where they were, and not found yet.
UPDATE messages AS message
SET place = 'missing',
    missing_since = COALESCE(missing_since, clock_timestamp()),
    moving_to = NULL,
    target_folder = NULL,
    target_uidvalidity = NULL,
    target_uidnext = NULL,
    updated_at = CURRENT_TIMESTAMP
FROM mailboxes AS mailbox
WHERE message.id = ANY(:ids)
  AND mailbox.id = message.mailbox_id
  AND mailbox.fence = :fence
RETURNING message.id
