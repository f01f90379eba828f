-- Enter a test event for a person's endpoint that is on. Zero rows if another one waits, or it is off or not theirs.
INSERT INTO webhook_deliveries (endpoint_id, account_id, event)
SELECT id, account_id, 'test'
FROM webhook_endpoints
WHERE id = :id
  AND account_id = :account_id
  AND is_on
  AND NOT EXISTS (
      SELECT 1
      FROM webhook_deliveries AS other
      WHERE other.endpoint_id = webhook_endpoints.id
        AND other.event = 'test'
        AND other.state = 'waiting'
  )
RETURNING id
