-- When each chore of the clock was last done.
SELECT chore, finished_at, clock_timestamp() - finished_at AS ago
FROM housekeeping_runs
ORDER BY finished_at
LIMIT 100
