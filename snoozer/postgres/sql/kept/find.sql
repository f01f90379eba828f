-- The kept message with these bytes.
SELECT id
FROM kept_messages
WHERE user_email = :user_email
  AND sha256 = :sha256
ORDER BY id
LIMIT 1
