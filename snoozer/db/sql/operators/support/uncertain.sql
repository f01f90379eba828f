-- Reminders that may have been sent, the oldest first.
SELECT id, snooze_id, dot_authorised_at, uncertain_at, resends, reply
FROM reminder_sends
WHERE state = 'uncertain'
ORDER BY uncertain_at, id
LIMIT 100
