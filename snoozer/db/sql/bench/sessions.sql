-- The sessions of workers, and the last thing that each of them asked.
SELECT pid, state, query
FROM pg_stat_activity
WHERE application_name = 'snoozer-worker'
