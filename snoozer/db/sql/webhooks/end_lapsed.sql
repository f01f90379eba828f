-- Fail the deliveries that lost workers hold for endpoints switched off since, like the waiting ones (end_waiting):
-- they would never be claimed again.
WITH lapsed AS MATERIALIZED (
    SELECT delivery.id
    FROM webhook_deliveries AS delivery
    JOIN webhook_endpoints AS endpoint ON endpoint.id = delivery.endpoint_id
    WHERE NOT endpoint.is_on
      AND delivery.claim_token IS NOT NULL
      AND delivery.claimed_until <= CURRENT_TIMESTAMP
    FOR NO KEY UPDATE OF delivery SKIP LOCKED
)
UPDATE webhook_deliveries AS delivery
SET state = 'failed',
    reason = COALESCE(delivery.reason, 'off'),
    finished_at = clock_timestamp(),
    claim_token = NULL,
    claimed_until = NULL
FROM lapsed
WHERE delivery.id = lapsed.id
RETURNING delivery.id
