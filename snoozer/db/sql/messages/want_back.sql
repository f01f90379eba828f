-- Want messages of connected mailboxes where they were wanted before an act on many of them was undone, for their owner.
-- Nothing that no snooze returns is wanted among what is snoozed.
UPDATE messages AS message
SET wanted = was.wanted,
    updated_at = CURRENT_TIMESTAMP
FROM unnest(CAST(:ids AS bigint[]), CAST(:wanted AS text[])) AS was (id, wanted)
WHERE message.id = was.id
  AND message.user_email = :user_email
  AND message.wanted <> was.wanted
  AND (was.wanted <> 'snoozed' OR message.returns_at IS NOT NULL)
RETURNING message.id
