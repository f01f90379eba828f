-- In how many seconds a worker would send something next; NULL if nothing waits.
SELECT EXTRACT(EPOCH FROM min(due_at) - CURRENT_TIMESTAMP)
FROM shadow_jobs
WHERE source = :source
  AND would_send_at IS NULL
  AND gone_at IS NULL
