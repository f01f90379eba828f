-- The account of a valid token.
SELECT account_id
FROM api_tokens
JOIN accounts ON accounts.id = api_tokens.account_id
WHERE token_hash = :token_hash
  AND revoked_at IS NULL
  AND accounts.disabled_at IS NULL
