-- The person acted on this reminder, so a copy arrived: a send that was uncertain, or was reserved for a resend
-- because of that, becomes sent. A dot that is in flight still waits for the server's reply.
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
