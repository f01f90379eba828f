-- How late what was sent in the last hour was, in seconds from the promise to the server's 250: how many in each band, and
-- percentiles. Of more than :most, of the newest.
WITH sent AS MATERIALIZED (
    SELECT CAST(extract(epoch FROM sent_at - scheduled_for) AS double precision) AS seconds
    FROM reminder_sends
    WHERE state = 'sent'
      AND channel = 'email'
      AND sent_at > CURRENT_TIMESTAMP - INTERVAL '1 hour'
    ORDER BY sent_at DESC
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
FROM sent
