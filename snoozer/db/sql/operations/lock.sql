-- Lock an operation that is not finished, for one chunk of it: cancelling it waits for the end of the chunk. An
-- operation that another process works on is skipped.
WITH locked AS MATERIALIZED (
    SELECT *
    FROM operations
    WHERE id = :id
      AND finished_at IS NULL
    FOR NO KEY UPDATE SKIP LOCKED
)
SELECT id, act, parameters, actor, reason, request_id, created_at
FROM locked
