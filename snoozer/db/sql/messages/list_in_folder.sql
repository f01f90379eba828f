-- The UIDs in a folder that are entered already.
SELECT uid
FROM messages
WHERE mailbox_id = :mailbox_id
  AND folder = :folder
  AND uidvalidity = :uidvalidity
  AND place <> 'missing'
