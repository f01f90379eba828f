-- These messages no longer carry the flag, or have left the inbox: if they get it again, they are snoozed.
DELETE FROM mailbox_flagged AS flagged
USING mailboxes AS mailbox
WHERE flagged.mailbox_id = :mailbox_id
  AND flagged.uid = ANY(CAST(:uids AS bigint[]))
  AND mailbox.id = flagged.mailbox_id
  AND mailbox.fence = :fence
