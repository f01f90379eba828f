-- Working workers, and workers lost within the last :lately: silent for :dead_after without having left. Lost ones
-- first, then by host and start; at most :most of each, so that long lists do not hide each other.
WITH known AS (
    SELECT
        *,
        COALESCE(stopped_at, clock_timestamp()) - heartbeat_at > CAST(:dead_after AS interval) AS is_lost
    FROM workers
    WHERE state <> 'dead'
       OR stopped_at > clock_timestamp() - CAST(:lately AS interval)
),
worker AS (
    SELECT *, row_number() OVER (PARTITION BY is_lost ORDER BY host, started_at, id) AS number
    FROM known
    WHERE state <> 'dead'
       OR is_lost
)
SELECT id, version, host, state, started_at, heartbeat_at, batch_size, concurrency, is_lost
FROM worker
WHERE number <= :most
ORDER BY is_lost DESC, number
