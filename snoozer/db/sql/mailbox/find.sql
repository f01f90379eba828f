-- The kept message with these bytes. Of those that may be sent anew word for word (`repeatable`), one that nobody has
-- looked at yet.
SELECT id
FROM kept_messages
WHERE user_email = :user_email
  AND sha256 = :sha256
  AND (NOT CAST(:repeatable AS boolean) OR (folder = 'inbox' AND unread))
ORDER BY id
LIMIT 1
