-- The messages in the inbox that carry the flag which snoozes and are left as they are, and in which counting of UIDs;
-- NULL where they were not noted yet. Zero rows: another process owns the mailbox.
SELECT
    mailbox.flagged_uidvalidity AS uidvalidity,
    ARRAY(SELECT uid FROM mailbox_flagged WHERE mailbox_id = mailbox.id) AS uids
FROM mailboxes AS mailbox
WHERE mailbox.id = :mailbox_id
  AND mailbox.fence = :fence
