-- Mark a message as unread by its owner.
UPDATE kept_messages
SET unread = TRUE
WHERE id = :id
  AND user_email = :user_email
RETURNING id
