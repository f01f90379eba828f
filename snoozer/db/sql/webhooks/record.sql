-- Record that an endpoint accepted a delivery: a fact, whatever the state of the claim. Repeating changes nothing. The
-- endpoint is locked first, as in all statements.
WITH endpoint AS MATERIALIZED (
    SELECT id
    FROM webhook_endpoints
    WHERE id = :endpoint_id
    FOR NO KEY UPDATE
),
delivered AS (
    UPDATE webhook_deliveries AS delivery
    SET state = 'delivered',
        attempts = delivery.attempts + 1,
        status = :status,
        reason = NULL,
        answer = :answer,
        answer_ms = :answer_ms,
        claim_token = NULL,
        claimed_until = NULL,
        finished_at = clock_timestamp()
    FROM endpoint
    WHERE delivery.id = :id
      AND delivery.endpoint_id = endpoint.id
      AND delivery.state <> 'delivered'
    RETURNING delivery.endpoint_id
)
UPDATE webhook_endpoints AS endpoint
SET delivered_at = clock_timestamp(),
    failures = 0,
    quiet_until = NULL,
    answer_ms = :answer_ms
FROM delivered
WHERE endpoint.id = delivered.endpoint_id
RETURNING endpoint.id
