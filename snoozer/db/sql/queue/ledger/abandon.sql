-- Settle uncertain sends whose promise was cancelled or rescheduled while the mail was in flight.
-- After the hold they count as failed and are not sent again. A snooze that is being changed is left for the next sweep.
WITH unwanted AS MATERIALIZED (
    SELECT send.id
    FROM reminder_sends AS send
    JOIN email_snoozes AS snooze ON snooze.id = send.snooze_id
    WHERE send.state = 'uncertain'
      AND send.id BETWEEN :first_id AND :last_id
      AND send.uncertain_at < clock_timestamp() - :hold
      AND (
          snooze.outcome = 'cancelled'
          OR snooze_promise(snooze) <> send.scheduled_for
      )
    ORDER BY send.id
    LIMIT :batch_size
    FOR NO KEY UPDATE OF snooze, send SKIP LOCKED
)
UPDATE reminder_sends AS send
SET state = 'failed',
    resolution = 'no longer wanted',
    resolved_by = 'policy',
    resolved_at = clock_timestamp()
FROM unwanted
WHERE send.id = unwanted.id
RETURNING send.snooze_id
