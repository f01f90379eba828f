-- When each job was done, as PgQueuer's log tells it, and when the first one of all was picked, in seconds.
SELECT
    extract(epoch FROM created)::float8 AS at,
    (SELECT extract(epoch FROM min(created))::float8 FROM pgqueuer_log WHERE status = 'picked') AS began
FROM pgqueuer_log
WHERE status = 'successful'
