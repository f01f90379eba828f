-- The rows that each worker holds: how many, since when the oldest, how many for longer than :slow, how many with a
-- lease that has ended, and the first few of them.
SELECT
    claimed_by AS worker,
    count(*) AS rows,
    min(claimed_at) AS oldest,
    count(*) FILTER (WHERE claimed_at < clock_timestamp() - CAST(:slow AS interval)) AS slow,
    count(*) FILTER (WHERE lease_expires_at < clock_timestamp()) AS lapsed,
    (array_agg(id ORDER BY claimed_at, id))[1:5] AS ids
FROM email_snoozes
WHERE claimed_at IS NOT NULL
GROUP BY claimed_by
