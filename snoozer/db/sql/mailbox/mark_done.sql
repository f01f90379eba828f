-- Move the message to the folder of what is done.
UPDATE kept_messages
SET folder = 'done',
    unread = FALSE,
    returned = FALSE
WHERE user_email = :user_email
  AND message_id = :message_id
RETURNING id
