-- Endpoints of webhooks, how many failed last and how many were switched off by Snoozer; deliveries of the last day by
-- their end, and how many have been due for some minutes at endpoints that do not fail.
SELECT
    (SELECT count(*) FROM webhook_endpoints) AS endpoints,
    (SELECT count(*) FROM webhook_endpoints WHERE is_on AND failures > 0) AS failing,
    (SELECT count(*) FROM webhook_endpoints WHERE off_reason <> 'owner') AS switched_off,
    (SELECT count(*) FROM webhook_endpoints WHERE off_reason = 'key') AS unreadable,
    (
        SELECT count(*)
        FROM webhook_deliveries
        WHERE occurred_at > CURRENT_TIMESTAMP - INTERVAL '1 day'
          AND state = 'delivered'
    ) AS delivered,
    (
        SELECT count(*)
        FROM webhook_deliveries
        WHERE occurred_at > CURRENT_TIMESTAMP - INTERVAL '1 day'
          AND state = 'failed'
    ) AS failed,
    (
        SELECT count(*)
        FROM webhook_deliveries AS delivery
        JOIN webhook_endpoints AS endpoint ON endpoint.id = delivery.endpoint_id
        WHERE delivery.state = 'waiting'
          AND delivery.try_at < CURRENT_TIMESTAMP - INTERVAL '5 minutes'
          AND endpoint.is_on
          AND endpoint.failures = 0
    ) AS overdue
