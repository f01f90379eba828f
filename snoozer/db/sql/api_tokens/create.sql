-- Create a token for a person's program, with scopes and an optional expiry. Returns its id; no row without an open
-- account.
INSERT INTO api_tokens (account_id, token_hash, name, scopes, expires_at)
SELECT id, :token_hash, :label, CAST(:scopes AS text[]), CAST(:expires_at AS timestamptz)
FROM accounts
WHERE email = :email
  AND disabled_at IS NULL
RETURNING id
