-- Whether a chore was last completed longer ago than its interval, or never; a record from the future, after a clock
-- was set back, is ignored.
SELECT NOT EXISTS (
    SELECT 1
    FROM housekeeping_runs
    WHERE chore = :chore
      AND finished_at BETWEEN clock_timestamp() - :every AND clock_timestamp()
) AS is_due
