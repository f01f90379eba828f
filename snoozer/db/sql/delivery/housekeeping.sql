-- name: is_due
-- Whether a chore was last completed longer ago than its interval, or never; a record from the future, after a clock
-- was set back, is ignored.
SELECT NOT EXISTS (
    SELECT 1
    FROM housekeeping_runs
    WHERE chore = :chore
      AND finished_at BETWEEN clock_timestamp() - :every AND clock_timestamp()
) AS is_due

-- name: record_run
-- Record when this chore last finished, for the gauge of housekeeping's age.
INSERT INTO housekeeping_runs AS run (chore, finished_at)
VALUES (:chore, clock_timestamp())
ON CONFLICT (chore) DO UPDATE
SET finished_at = EXCLUDED.finished_at

-- name: record_server_start
-- Record when the database server was first seen since its present start; forget earlier starts.
WITH recorded AS (
    INSERT INTO server_starts (started_at, met_at)
    VALUES (pg_postmaster_start_time(), clock_timestamp())
    ON CONFLICT (started_at) DO NOTHING
)
DELETE FROM server_starts
WHERE started_at <> pg_postmaster_start_time()

-- name: try_lock
-- Let one clock at a time run a chore; the lock ends with the transaction, also behind a pooler.
SELECT pg_try_advisory_xact_lock(hashtextextended(:chore, 7266837)) AS acquired
