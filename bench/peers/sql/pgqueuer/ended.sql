-- When each job was done, by PgQueuer's log, and when the first one of all was picked, in seconds.
SELECT
    extract(epoch FROM created)::float8 AS at,
    (SELECT extract(epoch FROM min(created))::float8 FROM pgqueuer_log WHERE status = 'picked') AS began
FROM pgqueuer_log
WHERE status = 'successful'
