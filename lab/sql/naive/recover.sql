-- Jobs whose lease expired are pending again, at a new time; without attempts left they are dead.
UPDATE naive_jobs
SET status = CASE WHEN attempts >= max_attempts THEN 'dead' ELSE 'pending' END,
    claimed_by = NULL,
    lease_expires_at = NULL,
    remind_at = now()
WHERE status = 'processing'
  AND lease_expires_at < now()
