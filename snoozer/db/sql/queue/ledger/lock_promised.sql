-- Lock the ledger's entries for the promises of these snoozes; returns the snoozes whose entry another transaction has
-- locked, for example to record a late reply. It waits for no lock.
WITH locked AS MATERIALIZED (
    SELECT send.id
    FROM email_snoozes AS snooze
    JOIN reminder_sends AS send
      ON send.user_email = snooze.user_email
     AND send.message_id = snooze.message_id
     AND send.scheduled_for = snooze_promise(snooze)
     AND send.channel = 'email'
    WHERE snooze.id = ANY(:snooze_ids)
    FOR NO KEY UPDATE OF send SKIP LOCKED
)
SELECT snooze.id
FROM email_snoozes AS snooze
JOIN reminder_sends AS send
  ON send.user_email = snooze.user_email
 AND send.message_id = snooze.message_id
 AND send.scheduled_for = snooze_promise(snooze)
 AND send.channel = 'email'
WHERE snooze.id = ANY(:snooze_ids)
  AND send.id NOT IN (SELECT locked.id FROM locked)
