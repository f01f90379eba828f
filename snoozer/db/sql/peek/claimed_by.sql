-- The claims of a worker.
SELECT id, claim_token
FROM email_snoozes
WHERE claimed_at IS NOT NULL
  AND claimed_by = :worker
