-- name: prune
-- Delete the usage of periods that are over; the longest period is a day.
DELETE FROM quota_usage
WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM quota_usage WHERE period_start < CURRENT_TIMESTAMP - INTERVAL '2 days' LIMIT :batch_size
))
RETURNING 1

-- name: spend
-- Add an amount to a subject's usage of a quota in the present period, unless the sum exceeds the quota. Returns
-- whether it was added, the resulting usage, and in how many seconds the next period begins. Concurrent calls for one
-- subject wait for each other's transactions.
WITH present AS (
    SELECT date_bin(CAST(:period AS interval), clock_timestamp(), TIMESTAMPTZ 'epoch') AS period_start
),
spent AS (
    INSERT INTO quota_usage AS usage (quota, subject, period_start, amount)
    SELECT :quota, :subject, present.period_start, CAST(:amount AS bigint)
    FROM present
    WHERE CAST(:amount AS bigint) <= CAST(:most AS bigint)
    ON CONFLICT (quota, subject, period_start) DO UPDATE
    SET amount = usage.amount + EXCLUDED.amount
    WHERE usage.amount + EXCLUDED.amount <= CAST(:most AS bigint)
    RETURNING usage.amount
)
SELECT
    EXISTS (SELECT FROM spent) AS was_added,
    (SELECT amount FROM spent) AS used,
    CAST(
        extract(epoch FROM present.period_start + CAST(:period AS interval) - clock_timestamp()) AS double precision
    ) AS seconds_left,
    GREATEST(
        1,
        CAST(ceil(extract(epoch FROM present.period_start + CAST(:period AS interval) - clock_timestamp())) AS integer)
    ) AS retry_after
FROM present
