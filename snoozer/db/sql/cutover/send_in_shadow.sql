-- Note when a worker would send due jobs, a batch at a time: larger priorities first, then by time, and only one job of
-- each key at a time. Nothing is sent.
WITH due AS MATERIALIZED (
    SELECT source, job_id, due_at
    FROM (
        SELECT
            source, job_id, due_at, priority, serialization_key,
            row_number() OVER (PARTITION BY serialization_key ORDER BY due_at, job_id) AS place
        FROM shadow_jobs
        WHERE source = :source
          AND would_send_at IS NULL
          AND gone_at IS NULL
          AND due_at <= CURRENT_TIMESTAMP
    ) AS waiting
    WHERE serialization_key IS NULL
       OR place = 1
    ORDER BY priority DESC, due_at, job_id
    LIMIT :batch_size
)
UPDATE shadow_jobs AS job
SET would_send_at = clock_timestamp()
FROM due
WHERE job.source = due.source
  AND job.job_id = due.job_id
  AND job.due_at = due.due_at
RETURNING job.job_id
