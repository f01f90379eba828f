-- An operator dismissed these cases: their uncertain sends are not sent again.
UPDATE reminder_sends AS send
SET state = 'failed',
    resolution = 'dismissed',
    resolved_by = :actor,
    resolved_at = CURRENT_TIMESTAMP
WHERE send.snooze_id = ANY(:ids)
  AND send.state = 'uncertain'
RETURNING send.snooze_id
