-- An operator who dismisses a case has decided that an uncertain reminder is not sent again.
UPDATE reminder_sends AS send
SET state = 'failed',
    resolution = 'dismissed',
    resolved_by = :actor,
    resolved_at = CURRENT_TIMESTAMP
WHERE send.snooze_id = ANY(:ids)
  AND send.state = 'uncertain'
RETURNING send.snooze_id
