-- Terminates the sessions of workers that listen for notifications.
SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) AS cut
FROM pg_stat_activity
WHERE application_name = 'snoozer-worker'
  AND query LIKE '%LISTEN snooze_due%'
