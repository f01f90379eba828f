-- Mark a kept message as unread or read, by its owner.
UPDATE messages
SET unread = :unread
WHERE id = :id
  AND is_kept
  AND user_email = :user_email
RETURNING id
