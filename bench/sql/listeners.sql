-- The sessions of workers that listen for notifications.
SELECT pid
FROM pg_stat_activity
WHERE application_name = 'snoozer-worker'
  AND query LIKE '%LISTEN snooze_due%'
