-- Take the message out of the inbox until its time; one that no snooze will return stays where it is.
UPDATE kept_messages
SET folder = 'snoozed',
    returned = FALSE
WHERE user_email = :user_email
  AND message_id = :message_id
  AND returns_at IS NOT NULL
RETURNING id
