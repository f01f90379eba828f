-- Dead workers that hold nothing are of no interest after a while.
DELETE FROM workers
WHERE state = 'dead'
  AND stopped_at < clock_timestamp() - INTERVAL '7 days'
  AND NOT EXISTS (SELECT 1 FROM email_snoozes WHERE claimed_by = workers.id)
RETURNING id
