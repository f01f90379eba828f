-- name: forget
-- These messages no longer carry the flag, or have left the inbox: if they get it again, they are snoozed.
DELETE FROM mailbox_flagged AS flagged
USING mailboxes AS mailbox
WHERE flagged.mailbox_id = :mailbox_id
  AND flagged.uid = ANY(CAST(:uids AS bigint[]))
  AND mailbox.id = flagged.mailbox_id
  AND mailbox.fence = :fence

-- name: leave
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

-- name: note
-- Note again which messages carry the snooze flag: it was chosen just now, or the UIDVALIDITY of the inbox changed.
-- These messages are left as they are.
WITH mailbox AS (
    UPDATE mailboxes
    SET flagged_noted_at = clock_timestamp(),
        flagged_uidvalidity = :uidvalidity
    WHERE id = :mailbox_id
      AND fence = :fence
    RETURNING id
),
former AS (
    DELETE FROM mailbox_flagged AS flagged
    USING mailbox
    WHERE flagged.mailbox_id = mailbox.id
      AND flagged.uid <> ALL(CAST(:uids AS bigint[]))
)
INSERT INTO mailbox_flagged (mailbox_id, uid)
SELECT mailbox.id, carrying.uid
FROM mailbox
CROSS JOIN unnest(CAST(:uids AS bigint[])) AS carrying (uid)
ON CONFLICT DO NOTHING

-- name: read
-- The messages in the inbox that carry the snooze flag and are left as they are, and their UIDVALIDITY; NULL if they
-- were not noted yet. Zero rows: another process owns the mailbox.
SELECT
    mailbox.flagged_uidvalidity AS uidvalidity,
    ARRAY(SELECT uid FROM mailbox_flagged WHERE mailbox_id = mailbox.id) AS uids
FROM mailboxes AS mailbox
WHERE mailbox.id = :mailbox_id
  AND mailbox.fence = :fence
