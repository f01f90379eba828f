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
