-- Note jobs that the old scheduler has, given as a JSON array: each with every time at which it was due.
INSERT INTO shadow_jobs AS known (source, job_id, due_at, user_email, priority, serialization_key)
SELECT :source, job_id, due_at, user_email, priority, serialization_key
FROM jsonb_to_recordset(CAST(:jobs AS jsonb)) AS given (
    job_id TEXT, due_at TIMESTAMPTZ, user_email TEXT, priority SMALLINT, serialization_key TEXT
)
ORDER BY job_id
ON CONFLICT (source, job_id, due_at) DO UPDATE
SET user_email = EXCLUDED.user_email,
    priority = EXCLUDED.priority,
    serialization_key = EXCLUDED.serialization_key,
    seen_at = CURRENT_TIMESTAMP,
    gone_at = NULL
