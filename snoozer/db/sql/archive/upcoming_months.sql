-- This month and the next two, whose partitions must exist before a batch needs them.
SELECT (date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC') + number * INTERVAL '1 month')::date AS month
FROM generate_series(0, 2) AS number
