-- When the clock last did one of its chores of every few seconds, and when it last recorded the minutes.
SELECT
    (
        SELECT max(finished_at)
        FROM housekeeping_runs
        WHERE chore IN ('bury', 'recover', 'retire', 'doubt', 'abandon', 'verify')
    ) AS swept_at,
    (SELECT max(finished_at) FROM housekeeping_runs WHERE chore = 'minutes') AS recorded_at
