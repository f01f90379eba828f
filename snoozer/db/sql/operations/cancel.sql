-- Cancel an operation that is not finished: what it has done stays done, and the rest is not touched.
-- One that brings back what a pause had set aside goes on: what is left would wait for a pause that is over.
UPDATE operations
SET cancelled_at = clock_timestamp(),
    cancelled_by = :actor,
    finished_at = clock_timestamp()
WHERE id = :id
  AND finished_at IS NULL
  AND act <> 'resume'
RETURNING members - done - unchanged - failed AS untouched
