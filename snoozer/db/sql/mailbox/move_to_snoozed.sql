-- Take the message out of the inbox until its time, here or in the mailbox that it is in; one that no snooze will return
-- stays where it is.
WITH connected AS (
    UPDATE mailbox_messages
    SET wanted = 'snoozed',
        updated_at = CURRENT_TIMESTAMP
    WHERE user_email = :user_email
      AND message_id = :message_id
      AND returns_at IS NOT NULL
)
UPDATE kept_messages
SET folder = 'snoozed',
    returned = FALSE
WHERE user_email = :user_email
  AND message_id = :message_id
  AND returns_at IS NOT NULL
RETURNING id
