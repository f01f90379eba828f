-- Try a job again later, by moving its time; without attempts left it is dead.
UPDATE naive_jobs
SET status = CASE WHEN attempts >= max_attempts THEN 'dead' ELSE 'pending' END,
    claimed_by = NULL,
    lease_expires_at = NULL,
    remind_at = now() + power(2, least(attempts, 12)) * INTERVAL '125 milliseconds'
WHERE id = :id
  AND claimed_by = :worker
  AND lease_generation = :generation
  AND status = 'processing'
