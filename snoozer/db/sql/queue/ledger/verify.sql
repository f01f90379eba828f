-- Search the mailboxes that Snoozer keeps for uncertain reminders: a reminder that is found was sent. A miss is counted
-- only after the hold, and repeated no sooner than lookup_interval; if the process that watches the recipient's
-- connected mailbox searches for the reminder, no miss is counted here.
WITH checked AS MATERIALIZED (
    SELECT
        send.id,
        EXISTS (
            SELECT 1
            FROM messages AS kept
            WHERE kept.is_kept
              AND kept.user_email = send.user_email
              AND kept.message_id = send.reminder_message_id
        ) AS found
    FROM reminder_sends AS send
    WHERE send.state = 'uncertain'
      AND (
          NOT snooze_reminder_is_sought(send.user_email, send.uncertain_at, :hold)
          OR EXISTS (
              SELECT 1
              FROM messages AS kept
              WHERE kept.is_kept
                AND kept.user_email = send.user_email
                AND kept.message_id = send.reminder_message_id
          )
      )
      AND send.id BETWEEN :first_id AND :last_id
      AND (send.looked_at IS NULL OR send.looked_at < clock_timestamp() - :lookup_interval)
    ORDER BY send.id
    LIMIT :batch_size
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE reminder_sends AS send
SET state = CASE WHEN checked.found THEN 'sent' ELSE 'uncertain' END,
    sent_at = CASE WHEN checked.found THEN clock_timestamp() END,
    resolution = CASE WHEN checked.found THEN 'verified' ELSE send.resolution END,
    resolved_by = CASE WHEN checked.found THEN 'mailbox' ELSE send.resolved_by END,
    resolved_at = CASE WHEN checked.found THEN clock_timestamp() ELSE send.resolved_at END,
    looks = send.looks + CASE WHEN send.uncertain_at <= clock_timestamp() - :hold THEN 1 ELSE 0 END,
    looked_at = clock_timestamp()
FROM checked
WHERE send.id = checked.id
RETURNING send.snooze_id, checked.found
