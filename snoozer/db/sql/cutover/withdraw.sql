-- Note that these imported jobs are left to their source again, so that another import may bring them anew.
UPDATE imported_jobs
SET withdrawn_at = CURRENT_TIMESTAMP
WHERE source = :source
  AND job_id = ANY(:job_ids)
