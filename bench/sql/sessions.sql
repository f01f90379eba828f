-- The sessions of workers, and the last statement of each.
SELECT pid, state, query
FROM pg_stat_activity
WHERE application_name = 'snoozer-worker'
