-- The person changed their mind. The message lies in the inbox again, where it was and as it was.
UPDATE kept_messages
SET folder = 'inbox',
    returned = FALSE
WHERE user_email = :user_email
  AND message_id = :message_id
  AND folder <> 'inbox'
RETURNING id
