-- Take the message out of the inbox until its reminder.
UPDATE kept_messages
SET folder = 'snoozed',
    returned = FALSE
WHERE user_email = :user_email
  AND message_id = :message_id
RETURNING id
