-- The UIDs in a folder that are entered already.
SELECT uid
FROM mailbox_messages
WHERE mailbox_id = :mailbox_id
  AND folder = :folder
  AND uidvalidity = :uidvalidity
  AND place <> 'missing'
