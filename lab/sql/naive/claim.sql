-- Take ownership of due jobs. It counts the attempt here.
WITH picked AS MATERIALIZED (
    SELECT id FROM naive_jobs
    WHERE status = 'pending' AND remind_at <= now() AND attempts < max_attempts
    ORDER BY remind_at, id
    LIMIT :batch_size
    FOR UPDATE SKIP LOCKED
)
UPDATE naive_jobs AS job
SET status = 'processing',
    claimed_by = :worker,
    lease_expires_at = now() + CAST(:lease AS interval),
    lease_generation = lease_generation + 1,
    attempts = attempts + 1
FROM picked
WHERE job.id = picked.id
RETURNING job.id, job.message_id, job.rcpt, job.subject, job.remind_at, job.lease_generation, job.attempts
