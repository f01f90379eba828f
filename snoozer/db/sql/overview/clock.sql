-- When the clock last did a chore of :sweep, and when it last recorded the minutes.
SELECT
    (
        SELECT max(finished_at)
        FROM housekeeping_runs
        WHERE chore = ANY(CAST(:sweep AS text[]))
    ) AS swept_at,
    (SELECT max(finished_at) FROM housekeeping_runs WHERE chore = 'minutes') AS recorded_at
