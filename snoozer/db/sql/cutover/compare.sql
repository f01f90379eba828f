-- Each time at which a job was due, with what the old scheduler did: missed, early, late or twice beyond the tolerance,
-- or the same; withdrawn if the job vanished before and was not sent; pending if it is too soon to say.
SELECT
    job_id,
    due_at,
    GREATEST(would_send_at - GREATEST(due_at, noticed_at), INTERVAL '0') AS shadow_delay,
    sent_at,
    CASE
        WHEN cardinality(sent_at) > 1 THEN 'twice'
        WHEN sent_at[1] < due_at - :tolerance THEN 'early'
        WHEN sent_at[1] > due_at + :tolerance THEN 'late'
        WHEN cardinality(sent_at) = 1 THEN 'same'
        WHEN gone_at IS NOT NULL THEN 'withdrawn'
        WHEN due_at + :tolerance < :until THEN 'missed'
        ELSE 'pending'
    END AS kind
FROM shadow_jobs
WHERE source = :source
ORDER BY due_at, job_id
