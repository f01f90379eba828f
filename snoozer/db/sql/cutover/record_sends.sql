-- Enter sends of the old scheduler, given as a JSON array, each at the nearest due time of its job. Returns the sends
-- of unknown jobs.
WITH nearest AS MATERIALIZED (
    SELECT given.job_id, given.sent_at, job.due_at
    FROM jsonb_to_recordset(CAST(:sends AS jsonb)) AS given (job_id TEXT, sent_at TIMESTAMPTZ)
    LEFT JOIN LATERAL (
        SELECT due_at
        FROM shadow_jobs
        WHERE source = :source
          AND job_id = given.job_id
        ORDER BY abs(EXTRACT(EPOCH FROM due_at - given.sent_at)), due_at
        LIMIT 1
    ) AS job ON TRUE
),
changed AS (
    UPDATE shadow_jobs AS job
    SET sent_at = job.sent_at || sends.sent_at
    FROM (
        SELECT job_id, due_at, array_agg(sent_at ORDER BY sent_at) AS sent_at
        FROM nearest
        WHERE due_at IS NOT NULL
        GROUP BY job_id, due_at
    ) AS sends
    WHERE job.source = :source
      AND job.job_id = sends.job_id
      AND job.due_at = sends.due_at
)
SELECT job_id, sent_at
FROM nearest
WHERE due_at IS NULL
ORDER BY sent_at, job_id
