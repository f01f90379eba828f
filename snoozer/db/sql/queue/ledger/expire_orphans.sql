-- Make sends uncertain that were marked but whose claim is gone (the person changed or cancelled the snooze while its
-- mail was in flight) and whose worker recorded no reply before the deadline.
WITH orphaned AS MATERIALIZED (
    SELECT send.id
    FROM reminder_sends AS send
    WHERE send.state = 'sending'
      AND send.id BETWEEN :first_id AND :last_id
      AND send.dot_authorised_at < clock_timestamp() - :deadline
      AND NOT EXISTS (
          SELECT 1
          FROM email_snoozes AS snooze
          WHERE snooze.id = send.snooze_id
            AND snooze.claim_token = send.claim_token
      )
    ORDER BY send.id
    LIMIT :batch_size
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE reminder_sends AS send
SET state = 'uncertain',
    uncertain_at = clock_timestamp()
FROM orphaned
WHERE send.id = orphaned.id
RETURNING send.snooze_id
