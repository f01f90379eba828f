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
