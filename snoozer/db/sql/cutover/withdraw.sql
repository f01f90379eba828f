-- Note that these imported jobs are left to their source, so that another import may bring them again.
UPDATE imported_jobs
SET withdrawn_at = CURRENT_TIMESTAMP
WHERE source = :source
  AND job_id = ANY(:job_ids)
