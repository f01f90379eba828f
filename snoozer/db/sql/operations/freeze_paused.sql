-- Freeze all that a pause has set aside as what an operation is about; in the transaction that ends the pause.
-- A pause that has ended sets nothing more aside, so there are no others.
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
