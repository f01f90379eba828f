-- Deliver something once more, with its id, for its owner: it is due at once, and its retry period starts over. Zero
-- rows if it waits already, is not theirs, or its endpoint is off.
UPDATE webhook_deliveries AS delivery
SET state = 'waiting',
    try_at = clock_timestamp(),
    first_tried_at = NULL,
    finished_at = NULL
FROM webhook_endpoints AS endpoint
WHERE delivery.id = :id
  AND delivery.account_id = :account_id
  AND delivery.state <> 'waiting'
  AND endpoint.id = delivery.endpoint_id
  AND endpoint.is_on
RETURNING delivery.id
