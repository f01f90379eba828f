-- Delete deliveries that are 30 days old, and deliveries whose endpoint was removed while they were entered.
DELETE FROM webhook_deliveries
WHERE id = ANY(ARRAY(
    SELECT delivery.id
    FROM webhook_deliveries AS delivery
    WHERE delivery.occurred_at < CURRENT_TIMESTAMP - INTERVAL '30 days'
       OR (
           delivery.state = 'waiting'
           AND NOT EXISTS (SELECT 1 FROM webhook_endpoints AS endpoint WHERE endpoint.id = delivery.endpoint_id)
       )
    LIMIT :batch_size
))
RETURNING id
