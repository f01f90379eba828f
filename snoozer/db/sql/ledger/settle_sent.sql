-- An operator knows that these uncertain reminders were sent; they never are again.
-- What was sent is dated by its dot: nothing later is known.
UPDATE reminder_sends AS send
SET state = 'sent',
    sent_at = send.dot_authorised_at,
    resolution = 'settled',
    resolved_by = :actor,
    resolved_at = CURRENT_TIMESTAMP
FROM email_snoozes AS snooze
WHERE snooze.id = ANY(:snooze_ids)
  AND send.user_email = snooze.user_email
  AND send.message_id = snooze.message_id
  AND send.scheduled_for = snooze.scheduled_for
  AND send.channel = 'email'
  AND send.state = 'uncertain'
RETURNING snooze.id
