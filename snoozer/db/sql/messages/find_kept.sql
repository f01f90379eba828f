-- The kept message with these bytes. With `repeatable` (no Message-ID and no date), only a message that is unread in
-- the inbox.
SELECT id
FROM messages
WHERE is_kept
  AND user_email = :user_email
  AND sha256 = :sha256
  AND (NOT CAST(:repeatable AS boolean) OR (folder = 'inbox' AND unread))
ORDER BY id
LIMIT 1
