-- Whether a chore was last completed so long ago, or never; a record from the future, after a clock was set back, counts
-- for nothing.
SELECT NOT EXISTS (
    SELECT 1
    FROM housekeeping_runs
    WHERE chore = :chore
      AND finished_at BETWEEN clock_timestamp() - :every AND clock_timestamp()
) AS is_due
