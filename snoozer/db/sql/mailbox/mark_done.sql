-- Done with it.
UPDATE kept_messages
SET folder = 'done',
    unread = FALSE,
    returned = FALSE
WHERE user_email = :user_email
  AND message_id = :message_id
RETURNING id
