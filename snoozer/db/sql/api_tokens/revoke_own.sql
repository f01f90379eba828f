-- Revoke one token of this account by its id, unless it is revoked already.
UPDATE api_tokens
SET revoked_at = clock_timestamp()
WHERE id = :id
  AND account_id = :account_id
  AND revoked_at IS NULL
RETURNING id
