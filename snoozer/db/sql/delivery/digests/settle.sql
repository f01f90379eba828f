-- Enter in the ledger the reminders of digests that were sent an hour ago or more, if no claim has done so: snoozes
-- that were cancelled or paused after the bytes were fixed. Entries that another transaction has locked are left for
-- the next time, with their digests.
WITH sent AS MATERIALIZED (
    SELECT digest.id, lead.sent_at
    FROM digests AS digest
    JOIN reminder_sends AS lead
      ON lead.snooze_id = digest.snooze_id
     AND lead.scheduled_for = digest.scheduled_for
     AND lead.channel = 'email'
    WHERE digest.settled_at IS NULL
      AND digest.gathered_at < clock_timestamp() - INTERVAL '1 hour'
      AND lead.state = 'sent'
    ORDER BY digest.gathered_at
    LIMIT :batch_size
    FOR NO KEY UPDATE OF digest SKIP LOCKED
),
unsaid AS MATERIALIZED (
    SELECT sent.id AS digest_id, sent.sent_at, send.id
    FROM sent
    JOIN digest_members AS member ON member.digest_id = sent.id
    JOIN reminder_sends AS send
      ON send.snooze_id = member.snooze_id
     AND send.scheduled_for = member.scheduled_for
     AND send.channel = 'email'
    WHERE send.state <> 'sent'
),
locked AS MATERIALIZED (
    SELECT send.id
    FROM reminder_sends AS send
    WHERE send.id IN (SELECT unsaid.id FROM unsaid)
    ORDER BY send.id
    FOR NO KEY UPDATE SKIP LOCKED
),
entering AS (
    UPDATE reminder_sends AS send
    SET state = 'sent',
        sent_at = unsaid.sent_at,
        resolution = 'digest',
        resolved_by = 'server',
        resolved_at = clock_timestamp()
    FROM unsaid
    WHERE send.id = unsaid.id
      AND send.id IN (SELECT locked.id FROM locked)
      AND send.state <> 'sent'
)
UPDATE digests
SET settled_at = clock_timestamp()
FROM sent
WHERE digests.id = sent.id
  AND NOT EXISTS (
      SELECT 1
      FROM unsaid
      WHERE unsaid.digest_id = digests.id
        AND unsaid.id NOT IN (SELECT locked.id FROM locked)
  )
RETURNING digests.id
