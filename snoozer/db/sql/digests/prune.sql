-- Delete digests gathered longer ago than `older_than`, except those not settled whose mail may have been sent: the
-- reminders of the others are in the ledger.
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
