-- How a run went: from the first claim to the last 250, in seconds, and what should be zero.
WITH sent AS (
    SELECT
        extract(epoch FROM sent_at)::float8 AS at,
        extract(epoch FROM min(reserved_at) OVER ())::float8 AS began
    FROM reminder_sends
    WHERE state = 'sent'
)
SELECT
    max(at - began) AS seconds,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY at - began) AS p50,
    percentile_cont(0.99) WITHIN GROUP (ORDER BY at - began) AS p99,
    (SELECT count(*) FROM snooze_events WHERE kind = 'recovered') AS reaped,
    (SELECT COALESCE(sum(resends), 0) FROM reminder_sends) AS duplicates
FROM sent
