-- Record when this chore last finished, for the gauge of housekeeping's age.
INSERT INTO housekeeping_runs AS run (chore, finished_at)
VALUES (:chore, clock_timestamp())
ON CONFLICT (chore) DO UPDATE
SET finished_at = EXCLUDED.finished_at
