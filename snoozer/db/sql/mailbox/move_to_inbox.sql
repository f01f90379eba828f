-- Return the message to its former place in the inbox, as it was.
UPDATE kept_messages
SET folder = 'inbox',
    returned = FALSE
WHERE user_email = :user_email
  AND message_id = :message_id
  AND folder <> 'inbox'
RETURNING id
