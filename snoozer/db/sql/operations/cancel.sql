-- Cancel an operation that is not finished: what it has done stays done, and the rest is not touched.
UPDATE operations
SET cancelled_at = clock_timestamp(),
    cancelled_by = :actor,
    finished_at = clock_timestamp()
WHERE id = :id
  AND finished_at IS NULL
RETURNING members - done - unchanged - failed AS untouched
