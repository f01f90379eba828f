-- How a run went, as PgQueuer's log tells it: from the first job picked to the last one done, in seconds.
WITH ended AS (
    SELECT
        extract(epoch FROM created)::float8 AS at,
        (SELECT extract(epoch FROM min(created))::float8 FROM pgqueuer_log WHERE status = 'picked') AS began
    FROM pgqueuer_log
    WHERE status = 'successful'
)
SELECT
    count(*) AS done,
    max(at - began) AS seconds,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY at - began) AS p50,
    percentile_cont(0.99) WITHIN GROUP (ORDER BY at - began) AS p99
FROM ended
