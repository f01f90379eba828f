-- Revoke tokens: one by its id, one by its secret, or all of a person's.
UPDATE api_tokens AS token
SET revoked_at = clock_timestamp()
FROM accounts AS account
WHERE account.id = token.account_id
  AND token.revoked_at IS NULL
  AND (token.id = :id OR token.token_hash = :token_hash OR account.email = :email)
RETURNING token.id, account.email
