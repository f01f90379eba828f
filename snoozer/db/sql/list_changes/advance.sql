-- Take a checkpoint, and delete all others except the latest.
WITH forgotten AS (
    DELETE FROM list_checkpoints
    WHERE taken_at < (SELECT max(taken_at) FROM list_checkpoints)
)
INSERT INTO list_checkpoints (snapshot)
SELECT CAST(pg_current_snapshot() AS text)
