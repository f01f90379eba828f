-- Delete workers that have been dead for a week and hold no claims.
DELETE FROM workers
WHERE state = 'dead'
  AND stopped_at < clock_timestamp() - INTERVAL '7 days'
  AND NOT EXISTS (SELECT 1 FROM email_snoozes WHERE claimed_by = workers.id AND claimed_at IS NOT NULL)
RETURNING id
