-- Remove a person's endpoint with all its deliveries. Zero rows if this person has no such endpoint.
WITH removed AS (
    DELETE FROM webhook_endpoints
    WHERE id = :id
      AND account_id = :account_id
    RETURNING id
),
forgotten AS (
    DELETE FROM webhook_deliveries
    USING removed
    WHERE webhook_deliveries.endpoint_id = removed.id
)
SELECT id
FROM removed
