-- Delete the data of one scheduler's shadow, a batch at a time.
DELETE FROM shadow_jobs
WHERE ctid = ANY(ARRAY(SELECT ctid FROM shadow_jobs WHERE source = :source LIMIT :batch_size))
RETURNING job_id
