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
