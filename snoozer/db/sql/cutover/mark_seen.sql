-- Note that these jobs, which were imported before, are still in their source, and when they are due there.
UPDATE imported_jobs AS known
SET seen_at = CURRENT_TIMESTAMP,
    due_at = COALESCE(given.due_at, known.due_at)
FROM jsonb_to_recordset(CAST(:jobs AS jsonb)) AS given (job_id TEXT, due_at TIMESTAMPTZ)
WHERE known.source = :source
  AND known.job_id = given.job_id
