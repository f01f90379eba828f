-- Mark a message as read by its owner.
UPDATE kept_messages
SET unread = FALSE
WHERE id = :id
  AND user_email = :user_email
RETURNING id
