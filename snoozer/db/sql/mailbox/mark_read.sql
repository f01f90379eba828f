-- The person has opened it.
UPDATE kept_messages
SET unread = FALSE
WHERE id = :id
  AND user_email = :user_email
RETURNING id
