-- How late what waits for a worker is, in seconds since it became due: how many in each band, and percentiles.
-- Of more than :most rows, of those that wait the longest.
WITH due AS MATERIALIZED (
    SELECT CAST(extract(epoch FROM clock_timestamp() - remind_at) AS double precision) AS seconds
    FROM email_snoozes
    WHERE NOT inactive
      AND claimed_at IS NULL
      AND NOT behind_key
      AND remind_at <= CURRENT_TIMESTAMP
      AND attempts < max_attempts
      AND schema_version <= :known_schema
    ORDER BY remind_at
    LIMIT :most
)
SELECT
    count(*) AS rows,
    count(*) FILTER (WHERE seconds <= 10) AS within_10_s,
    count(*) FILTER (WHERE seconds > 10 AND seconds <= 60) AS within_60_s,
    count(*) FILTER (WHERE seconds > 60 AND seconds <= 1800) AS within_30_min,
    count(*) FILTER (WHERE seconds > 1800) AS later,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) AS p50,
    percentile_cont(0.99) WITHIN GROUP (ORDER BY seconds) AS p99
FROM due
