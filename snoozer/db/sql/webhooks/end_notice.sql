-- The mail that an endpoint is off was sent, or refused for good. Zero rows if the endpoint was switched on or off
-- since.
UPDATE webhook_endpoints
SET notice_at = NULL
WHERE id = :id
  AND notice_at = :notice_at
RETURNING id
