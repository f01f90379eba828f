-- Create a token for a person's program.
INSERT INTO api_tokens (account_id, token_hash)
SELECT id, :token_hash
FROM accounts
WHERE email = :email
  AND disabled_at IS NULL
RETURNING id
