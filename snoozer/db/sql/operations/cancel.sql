-- Cancel an operation that is not finished: finished rows stay as they are, and the rest is not touched. An operation
-- that resumes what a pause had set aside goes on: rows left out would wait for a pause that is over.
UPDATE operations
SET cancelled_at = clock_timestamp(),
    cancelled_by = :actor,
    finished_at = clock_timestamp()
WHERE id = :id
  AND finished_at IS NULL
  AND act <> 'resume'
RETURNING members - done - unchanged - failed AS untouched
