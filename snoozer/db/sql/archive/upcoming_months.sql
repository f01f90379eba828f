-- This month and the next two, so that no batch ever waits for a partition.
SELECT (date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC') + number * INTERVAL '1 month')::date AS month
FROM generate_series(0, 2) AS number
