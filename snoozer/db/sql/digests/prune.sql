-- Delete digests that were gathered that long ago, but for those whose mail may still be known to have been sent: what the
-- others reminded of is in the ledger.
DELETE FROM digests
WHERE id = ANY(ARRAY(
    SELECT digest.id
    FROM digests AS digest
    WHERE digest.gathered_at < clock_timestamp() - :older_than
      AND (
          digest.settled_at IS NOT NULL
          OR NOT EXISTS (
              SELECT 1
              FROM reminder_sends AS lead
              WHERE lead.snooze_id = digest.snooze_id
                AND lead.scheduled_for = digest.scheduled_for
                AND lead.channel = 'email'
                AND lead.state IN ('sending', 'sent', 'uncertain')
          )
      )
    ORDER BY digest.gathered_at
    LIMIT :batch_size
))
RETURNING id
