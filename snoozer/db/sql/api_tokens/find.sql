-- The token with this secret, unless it is revoked or its account is closed: its owner, its scopes, and whether it has
-- expired.
SELECT
    token.id,
    token.account_id,
    token.scopes,
    COALESCE(token.expires_at <= clock_timestamp(), FALSE) AS expired
FROM api_tokens AS token
JOIN accounts ON accounts.id = token.account_id
WHERE token.token_hash = :token_hash
  AND token.revoked_at IS NULL
  AND accounts.disabled_at IS NULL
