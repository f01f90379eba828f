-- The mail that an endpoint is off was sent, or is refused for good. Zero rows where it was switched on or off since.
UPDATE webhook_endpoints
SET notice_at = NULL
WHERE id = :id
  AND notice_at = :notice_at
RETURNING id
