-- Move many kept messages to a folder of their owner, as `mark_done`, `move_to_inbox` and `move_to_snoozed` do with one.
-- Only what a snooze will return goes to `snoozed`, here or in the mailbox that it is in.
WITH connected AS (
    UPDATE mailbox_messages
    SET wanted = 'snoozed',
        updated_at = CURRENT_TIMESTAMP
    WHERE :folder = 'snoozed'
      AND user_email = :user_email
      AND message_id = ANY(:message_ids)
      AND returns_at IS NOT NULL
)
UPDATE kept_messages
SET folder = :folder,
    unread = CASE WHEN :folder = 'done' THEN FALSE ELSE unread END,
    returned = FALSE
WHERE user_email = :user_email
  AND message_id = ANY(:message_ids)
  AND folder <> :folder
  AND (:folder <> 'snoozed' OR returns_at IS NOT NULL)
RETURNING message_id
