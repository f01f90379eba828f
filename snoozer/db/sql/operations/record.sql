-- Record the results of members of an operation, each once, and count them; the last one finishes it.
WITH decided AS (
    UPDATE operation_members AS member
    SET result = given.result,
        detail = given.detail,
        decided_at = clock_timestamp()
    FROM unnest(
        CAST(:snooze_ids AS bigint[]),
        CAST(:results AS text[]),
        CAST(:details AS text[])
    ) AS given (snooze_id, result, detail)
    WHERE member.operation_id = :id
      AND member.snooze_id = given.snooze_id
      AND member.result IS NULL
    RETURNING given.result
),
counted AS (
    SELECT
        count(*) FILTER (WHERE result = 'done') AS done,
        count(*) FILTER (WHERE result = 'unchanged') AS unchanged,
        count(*) FILTER (WHERE result = 'failed') AS failed,
        count(*) AS rows
    FROM decided
)
UPDATE operations AS operation
SET done = operation.done + counted.done,
    unchanged = operation.unchanged + counted.unchanged,
    failed = operation.failed + counted.failed,
    worked_at = clock_timestamp(),
    finished_at = CASE
        WHEN operation.done + operation.unchanged + operation.failed + counted.rows = operation.members
            THEN clock_timestamp()
    END
FROM counted
WHERE operation.id = :id
  AND operation.finished_at IS NULL
RETURNING counted.rows, operation.finished_at IS NOT NULL AS finished
