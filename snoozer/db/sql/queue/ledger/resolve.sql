-- An operator decides about uncertain reminders, given by snooze and promise: they were sent, are sent again, or are
-- not. A reminder marked as sent is dated by its dot: no later time is known. A reminder sent again has the same bytes
-- and the same Message-ID, and counts as a resend, so policy sends it again no more often than before.
UPDATE reminder_sends AS send
SET state = CASE CAST(:resolution AS text) WHEN 'settled' THEN 'sent' ELSE 'failed' END,
    sent_at = CASE WHEN CAST(:resolution AS text) = 'settled' THEN send.dot_authorised_at END,
    resends = CASE WHEN CAST(:resolution AS text) = 'resend' THEN LEAST(send.resends + 1, 30000) ELSE send.resends END,
    resolution = CAST(:resolution AS text),
    resolved_by = :actor,
    resolved_at = CURRENT_TIMESTAMP
FROM unnest(CAST(:snooze_ids AS bigint[]), CAST(:promises AS timestamptz[])) AS given (id, promise)
JOIN email_snoozes AS snooze ON snooze.id = given.id
WHERE send.user_email = snooze.user_email
  AND send.message_id = snooze.message_id
  AND send.scheduled_for = given.promise
  AND send.channel = 'email'
  AND send.state = 'uncertain'
RETURNING snooze.id
