-- Claim the delivery that has been due the longest of an endpoint that this transaction has locked (webhooks/pick.sql). The
-- events of one snooze go out in order: nothing is claimed while something before it waits (function webhook_next).
WITH due AS MATERIALIZED (
    SELECT delivery.id
    FROM webhook_deliveries AS delivery
    WHERE delivery.id = (SELECT webhook_next(:endpoint_id))
      -- COALESCE keeps the planner from reading all that waits by the index of that.
      AND COALESCE(delivery.state = 'waiting', FALSE)
      AND COALESCE(delivery.claimed_until <= CURRENT_TIMESTAMP, TRUE)
    FOR NO KEY UPDATE OF delivery SKIP LOCKED
),
turn AS (
    UPDATE webhook_endpoints
    SET turn_at = clock_timestamp()
    FROM due
    WHERE webhook_endpoints.id = :endpoint_id
)
UPDATE webhook_deliveries AS delivery
SET claim_token = gen_random_uuid(),
    claimed_until = clock_timestamp() + :lease,
    tried_at = clock_timestamp(),
    first_tried_at = COALESCE(delivery.first_tried_at, clock_timestamp())
FROM due
JOIN webhook_endpoints AS endpoint ON endpoint.id = :endpoint_id
WHERE delivery.id = due.id
RETURNING
    delivery.id,
    delivery.claim_token,
    delivery.number,
    delivery.endpoint_id,
    delivery.event,
    delivery.snooze_id,
    delivery.repeats,
    delivery.scheduled_for,
    delivery.remind_at,
    delivery.reference,
    delivery.subject,
    delivery.occurred_at,
    delivery.tried_at,
    delivery.attempts,
    endpoint.url,
    endpoint.failures,
    endpoint.failures > 0 OR COALESCE(endpoint.answer_ms, 0) >= :slow_ms AS is_troubled,
    endpoint.secret,
    endpoint.previous_secret,
    COALESCE(endpoint.previous_until > clock_timestamp(), FALSE) AS rotates
