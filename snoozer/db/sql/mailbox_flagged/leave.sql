-- Leave these messages as they are, too: they arrived in the inbox with the snooze flag. No effect if the UIDVALIDITY
-- of the inbox changed, or if flagged messages were not noted yet: then they are noted with the rest.
INSERT INTO mailbox_flagged (mailbox_id, uid)
SELECT mailbox.id, carrying.uid
FROM mailboxes AS mailbox
CROSS JOIN unnest(CAST(:uids AS bigint[])) AS carrying (uid)
WHERE mailbox.id = :mailbox_id
  AND mailbox.fence = :fence
  AND mailbox.flagged_uidvalidity = :uidvalidity
ON CONFLICT DO NOTHING
