-- Take a checkpoint, and forget those before the one that was the last until now.
WITH forgotten AS (
    DELETE FROM list_checkpoints
    WHERE taken_at < (SELECT max(taken_at) FROM list_checkpoints)
)
INSERT INTO list_checkpoints (snapshot)
SELECT CAST(pg_current_snapshot() AS text)
