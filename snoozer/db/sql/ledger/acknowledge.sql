-- The person answered this reminder, so a copy of it has come: one that was uncertain, or that was about to be sent once
-- more because it was, counts as sent. Of a dot that is on its way the server's word is still waited for.
UPDATE reminder_sends
SET state = 'sent',
    sent_at = dot_authorised_at,
    resolution = 'answered',
    resolved_by = 'user',
    resolved_at = clock_timestamp()
WHERE snooze_id = :snooze_id
  AND scheduled_for = :scheduled_for
  AND (
      state = 'uncertain'
      OR (state = 'reserved' AND dot_authorised_at < uncertain_at)
  )
RETURNING id
