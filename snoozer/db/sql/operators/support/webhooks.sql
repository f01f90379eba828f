-- Webhooks of the last day by state and reason, what waits and since when, and the endpoints by state. Codes and counts, no
-- addresses.
SELECT
    (
        SELECT COALESCE(jsonb_agg(jsonb_build_object('state', state, 'value', endpoints)), '[]')
        FROM (
            SELECT
                CASE WHEN NOT is_on THEN off_reason WHEN failures > 0 THEN 'failing now' ELSE 'on' END AS state,
                count(*) AS endpoints
            FROM webhook_endpoints
            GROUP BY CASE WHEN NOT is_on THEN off_reason WHEN failures > 0 THEN 'failing now' ELSE 'on' END
        ) AS alike
    ) AS endpoints,
    (
        SELECT COALESCE(jsonb_agg(jsonb_build_object('state', state, 'reason', reason, 'value', deliveries)), '[]')
        FROM (
            SELECT state, COALESCE(reason, 'none') AS reason, count(*) AS deliveries
            FROM webhook_deliveries
            WHERE occurred_at > CURRENT_TIMESTAMP - INTERVAL '1 day'
            GROUP BY state, COALESCE(reason, 'none')
        ) AS alike
    ) AS deliveries,
    (SELECT count(*) FROM webhook_deliveries WHERE state = 'waiting') AS waiting,
    COALESCE(
        (SELECT extract(epoch FROM clock_timestamp() - min(try_at)) FROM webhook_deliveries
            WHERE state = 'waiting' AND try_at <= CURRENT_TIMESTAMP),
        0
    ) AS oldest_due_seconds
