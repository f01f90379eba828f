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
