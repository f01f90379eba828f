-- name: backlog
-- How much was due at the end of the latest minute, and :ago, by the nearest minutes that were recorded when they
-- ended; NULL if there is no such minute.
SELECT
    (
        SELECT due
        FROM queue_minutes
        WHERE seconds = 60
          AND due IS NOT NULL
          AND starts_at > clock_timestamp() - CAST(:ago AS interval)
        ORDER BY starts_at DESC
        LIMIT 1
    ) AS latest,
    (
        SELECT due
        FROM queue_minutes
        WHERE seconds = 60
          AND due IS NOT NULL
          AND starts_at BETWEEN clock_timestamp() - 2 * CAST(:ago AS interval) AND clock_timestamp() - CAST(:ago AS interval)
        ORDER BY starts_at DESC
        LIMIT 1
    ) AS before

-- name: read
-- Statistics of the last :last, in steps of :step, the earliest first, up to the last minute that has ended. Of several
-- rows, p50 is the mean weighted by the number sent, and p99 the maximum.
WITH bounds AS MATERIALIZED (
    SELECT date_bin(CAST(:step AS interval), clock_timestamp() - INTERVAL '1 minute', '2000-01-01 00:00+00') AS newest
),
step AS (
    SELECT starts_at
    FROM bounds
    CROSS JOIN LATERAL generate_series(
        bounds.newest - CAST(:last AS interval) + CAST(:step AS interval), bounds.newest, CAST(:step AS interval)
    ) AS starts_at
)
SELECT
    step.starts_at,
    COALESCE(sum(known.seconds), 0) / 60 AS recorded,
    COALESCE(sum(known.sent), 0) AS sent,
    COALESCE(sum(known.retried), 0) AS retried,
    COALESCE(sum(known.failed), 0) AS failed,
    sum(known.p50 * known.sent) / NULLIF(sum(known.sent) FILTER (WHERE known.p50 IS NOT NULL), 0) AS p50,
    max(known.p99) AS p99
FROM step
LEFT JOIN queue_minutes AS known
  ON known.starts_at >= step.starts_at
 AND known.starts_at < step.starts_at + CAST(:step AS interval)
GROUP BY step.starts_at
ORDER BY step.starts_at
