-- How much was due :ago, by the minute nearest to it that was recorded when it ended; no row where none was.
SELECT due
FROM queue_minutes
WHERE seconds = 60
  AND due IS NOT NULL
  AND starts_at BETWEEN clock_timestamp() - 2 * CAST(:ago AS interval) AND clock_timestamp() - CAST(:ago AS interval)
ORDER BY starts_at DESC
LIMIT 1
