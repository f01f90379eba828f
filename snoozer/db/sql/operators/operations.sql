-- name: begin
-- Enter an act of an operator, before anything is changed; once for each form that is submitted.
-- A second submit of the form waits for the first one's transaction; zero rows then.
INSERT INTO operations (form, act, parameters, actor, reason, request_id)
VALUES (:form, :act, CAST(:parameters AS jsonb), :actor, :reason, :request_id)
ON CONFLICT ON CONSTRAINT uq_operations_form DO NOTHING
RETURNING id

-- name: cancel
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

-- name: find
-- The operation that was entered for a form.
SELECT id
FROM operations
WHERE form = :form

-- name: freeze
-- Freeze the members of an operation: these snoozes, each once; in the transaction that enters the operation. Snoozes
-- added later are not members of it.
WITH added AS (
    INSERT INTO operation_members (operation_id, snooze_id)
    SELECT :id, chosen.snooze_id
    FROM unnest(CAST(:snooze_ids AS bigint[])) AS chosen (snooze_id)
    ON CONFLICT ON CONSTRAINT pk_operation_members DO NOTHING
    RETURNING snooze_id
),
counted AS (
    SELECT count(*) AS rows FROM added
)
UPDATE operations AS operation
SET members = operation.members + counted.rows
FROM counted
WHERE operation.id = :id
RETURNING counted.rows

-- name: freeze_done
-- Freeze the rows that a finished operation has changed as the members of the operation that undoes it.
WITH added AS (
    INSERT INTO operation_members (operation_id, snooze_id)
    SELECT :id, member.snooze_id
    FROM operation_members AS member
    WHERE member.operation_id = :undone
      AND member.result = 'done'
    RETURNING snooze_id
),
counted AS (
    SELECT count(*) AS rows FROM added
)
UPDATE operations AS operation
SET members = counted.rows
FROM counted
WHERE operation.id = :id
RETURNING counted.rows

-- name: find_undoable
-- The act of an operation that has changed rows and finished within :lately, if :acts has it.
SELECT act
FROM operations
WHERE id = :id
  AND act = ANY(CAST(:acts AS text[]))
  AND done > 0
  AND finished_at > clock_timestamp() - CAST(:lately AS interval)

-- name: freeze_paused
-- Freeze all rows that a pause has set aside as the members of an operation, in the transaction that ends the pause. An
-- ended pause sets no more rows aside, so there are no others.
WITH added AS (
    INSERT INTO operation_members (operation_id, snooze_id)
    SELECT :id, snooze.id
    FROM email_snoozes AS snooze
    WHERE snooze.paused_by = :pause_id
    RETURNING snooze_id
),
counted AS (
    SELECT count(*) AS rows FROM added
)
UPDATE operations AS operation
SET members = operation.members + counted.rows,
    finished_at = CASE WHEN operation.members + counted.rows = 0 THEN clock_timestamp() END
FROM counted
WHERE operation.id = :id
RETURNING counted.rows

-- name: list_open
-- Unfinished operations, the longest untouched first.
SELECT id
FROM operations
WHERE finished_at IS NULL
ORDER BY worked_at NULLS FIRST, id
LIMIT :limit

-- name: lock
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

-- name: next_members
-- The next members of an operation whose act has not been done, in order; ids beyond `after`.
SELECT snooze_id
FROM operation_members
WHERE operation_id = :id
  AND result IS NULL
  AND snooze_id > :after
ORDER BY snooze_id
LIMIT :limit

-- name: prune
-- Delete the members of operations that finished long ago, and the operations once they have none; the audit log keeps
-- the changes.
WITH old AS MATERIALIZED (
    SELECT id
    FROM operations
    WHERE finished_at < CURRENT_TIMESTAMP - CAST(:older_than AS interval)
    ORDER BY id
    LIMIT 10
),
members AS MATERIALIZED (
    SELECT member.operation_id, member.snooze_id
    FROM old
    JOIN operation_members AS member ON member.operation_id = old.id
    LIMIT :batch_size
),
deleted AS (
    DELETE FROM operation_members AS member
    USING members
    WHERE member.operation_id = members.operation_id
      AND member.snooze_id = members.snooze_id
    RETURNING member.snooze_id
),
empty AS (
    DELETE FROM operations AS operation
    USING old
    WHERE operation.id = old.id
      AND NOT EXISTS (SELECT 1 FROM operation_members AS member WHERE member.operation_id = operation.id)
    RETURNING operation.id
)
SELECT (SELECT count(*) FROM deleted) + (SELECT count(*) FROM empty)

-- name: record
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
