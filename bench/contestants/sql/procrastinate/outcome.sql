-- How a run went, as Procrastinate's events tell it: from the first job started to the last one done, in seconds.
WITH ended AS (
    SELECT
        extract(epoch FROM at)::float8 AS at,
        (SELECT extract(epoch FROM min(at))::float8 FROM procrastinate_events WHERE type = 'started') AS began
    FROM procrastinate_events
    WHERE type = 'succeeded'
)
SELECT
    count(*) AS done,
    max(at - began) AS seconds,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY at - began) AS p50,
    percentile_cont(0.99) WITHIN GROUP (ORDER BY at - began) AS p99
FROM ended
