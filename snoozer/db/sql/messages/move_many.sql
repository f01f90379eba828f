-- Move kept messages to a folder of their owner. Only messages that a snooze will return go to `snoozed`, here or in
-- the mailbox that they are in. A message that is done becomes read; a message in the inbox keeps its place there.
UPDATE messages
SET folder = CASE WHEN is_kept THEN :folder ELSE folder END,
    unread = CASE WHEN :folder = 'done' THEN FALSE ELSE unread END,
    returned = CASE WHEN is_kept THEN FALSE END,
    wanted = CASE WHEN NOT is_kept THEN 'snoozed' END,
    updated_at = CURRENT_TIMESTAMP
WHERE user_email = :user_email
  AND message_id = ANY(:message_ids)
  AND (
      (NOT is_kept AND :folder = 'snoozed')
      OR (is_kept AND (folder <> :folder OR (returned AND :folder <> 'inbox') OR (unread AND :folder = 'done')))
  )
  AND (:folder <> 'snoozed' OR returns_at IS NOT NULL)
RETURNING message_id, is_kept
