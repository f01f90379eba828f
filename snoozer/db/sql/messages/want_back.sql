-- Restore where messages of connected mailboxes were wanted before an act on many of them, for their owner. Messages
-- without a live snooze are not moved to the snoozed folder.
UPDATE messages AS message
SET wanted = was.wanted,
    updated_at = CURRENT_TIMESTAMP
FROM unnest(CAST(:ids AS bigint[]), CAST(:wanted AS text[])) AS was (id, wanted)
WHERE message.id = was.id
  AND message.user_email = :user_email
  AND message.wanted <> was.wanted
  AND (was.wanted <> 'snoozed' OR message.returns_at IS NOT NULL)
RETURNING message.id
