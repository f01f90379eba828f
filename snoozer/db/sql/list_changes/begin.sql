-- Take the first checkpoint, as after a crash of the server: changes are known from now on.
INSERT INTO list_checkpoints (snapshot)
SELECT CAST(pg_current_snapshot() AS text)
