-- How a run went, from the first job begun to the last one done, in seconds.
-- `ended` is the queue's own ended.sql, which precedes this as a CTE.
SELECT
    count(*) AS done,
    max(at - began) AS seconds,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY at - began) AS p50,
    percentile_cont(0.99) WITHIN GROUP (ORDER BY at - began) AS p99
FROM ended
