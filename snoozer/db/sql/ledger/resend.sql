-- An operator lets these uncertain reminders be sent again: the same bytes, with the same Message-ID.
-- It counts as a resend, so policy sends it again no more often than before.
UPDATE reminder_sends AS send
SET state = 'reserved',
    resends = LEAST(send.resends + 1, 30000),
    resolution = 'resend',
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
