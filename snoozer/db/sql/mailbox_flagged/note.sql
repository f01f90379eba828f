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
