-- The entries of messages that lie in a folder under these UIDs, and whether each is already to be snoozed.
SELECT
    uid, message_id,
    wanted = 'snoozed' AS is_wanted
FROM messages
WHERE mailbox_id = :mailbox_id
  AND folder = :folder
  AND uidvalidity = :uidvalidity
  AND uid = ANY(CAST(:uids AS bigint[]))
  AND place <> 'missing'
