-- An operator undid the dismissal of these cases: the sends that it gave up are uncertain again.
UPDATE reminder_sends AS send
SET state = 'uncertain',
    resolution = NULL,
    resolved_by = NULL,
    resolved_at = NULL
WHERE send.snooze_id = ANY(:ids)
  AND send.state = 'failed'
  AND send.resolution = 'dismissed'
RETURNING send.snooze_id
