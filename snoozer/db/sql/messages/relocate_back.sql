-- Undo `relocate` for the owner of the messages, unless they are wanted elsewhere by now. Messages without a live
-- snooze are not moved to the snoozed folder.
UPDATE messages AS message
SET wanted = was.place,
    updated_at = CURRENT_TIMESTAMP
FROM unnest(CAST(:ids AS bigint[]), CAST(:places AS text[]), CAST(:wanted AS text[])) AS was (id, place, wanted)
WHERE message.id = was.id
  AND message.user_email = :user_email
  AND message.wanted = was.wanted
  AND (was.place <> 'snoozed' OR message.returns_at IS NOT NULL)
RETURNING message.id
