-- The messages in the inbox that carry the snooze flag and are left as they are, and their UIDVALIDITY; NULL if they
-- were not noted yet. Zero rows: another process owns the mailbox.
SELECT
    mailbox.flagged_uidvalidity AS uidvalidity,
    ARRAY(SELECT uid FROM mailbox_flagged WHERE mailbox_id = mailbox.id) AS uids
FROM mailboxes AS mailbox
WHERE mailbox.id = :mailbox_id
  AND mailbox.fence = :fence
