-- An operator reactivated these cases: their open sends may be sent again, with new bytes if the content changed.
UPDATE reminder_sends AS send
SET resolution = CASE WHEN send.state = 'uncertain' THEN 'resend' ELSE send.resolution END,
    resolved_by = CASE WHEN send.state = 'uncertain' THEN :actor ELSE send.resolved_by END,
    resolved_at = CASE WHEN send.state = 'uncertain' THEN CURRENT_TIMESTAMP ELSE send.resolved_at END,
    state = 'failed',
    resends = 0,
    refusals = 0,
    bytes_sha256 = NULL
FROM email_snoozes AS snooze
WHERE snooze.id = ANY(:ids)
  AND send.snooze_id = snooze.id
  AND send.scheduled_for = snooze.scheduled_for
  AND send.state NOT IN ('sending', 'sent')
RETURNING send.snooze_id
