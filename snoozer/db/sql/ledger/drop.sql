-- An operator drops these uncertain reminders: they are not sent again.
-- The promise is that of each snooze before `queue.drop`, which may move it, so it is given.
UPDATE reminder_sends AS send
SET state = 'failed',
    resolution = 'dropped',
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
