-- Finish a job that is still owned.
UPDATE naive_jobs
SET status = 'completed'
WHERE id = :id
  AND claimed_by = :worker
  AND lease_generation = :generation
  AND lease_expires_at > now()
  AND status = 'processing'
