-- Leave these messages as they are, too: they came to the inbox with the flag that snoozes. Nothing where the inbox counts
-- anew, or what carries the flag was not noted yet: then it is noted with the rest.
INSERT INTO mailbox_flagged (mailbox_id, uid)
SELECT mailbox.id, carrying.uid
FROM mailboxes AS mailbox
CROSS JOIN unnest(CAST(:uids AS bigint[])) AS carrying (uid)
WHERE mailbox.id = :mailbox_id
  AND mailbox.fence = :fence
  AND mailbox.flagged_uidvalidity = :uidvalidity
ON CONFLICT DO NOTHING
