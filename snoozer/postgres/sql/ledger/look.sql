-- What the ledger knows of a claimed promise that could not be reserved.
SELECT
    send.id,
    send.state,
    send.resends,
    GREATEST(send.uncertain_at + :hold - clock_timestamp(), INTERVAL '1 second') AS hold_left
FROM reminder_sends AS send
JOIN email_snoozes AS snooze
  ON snooze.user_email = send.user_email
 AND snooze.message_id = send.message_id
 AND snooze.scheduled_for = send.scheduled_for
WHERE snooze.id = :snooze_id
  AND send.channel = 'email'
