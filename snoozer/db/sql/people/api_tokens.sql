-- name: create
-- Create a token for a person's program, with scopes and an optional expiry. Returns its id; no row without an open
-- account.
INSERT INTO api_tokens (account_id, token_hash, name, scopes, expires_at)
SELECT id, :token_hash, :label, CAST(:scopes AS text[]), CAST(:expires_at AS timestamptz)
FROM accounts
WHERE email = :email
  AND disabled_at IS NULL
RETURNING id

-- name: find
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

-- name: list_all
-- The tokens of one person, or of all people, without the secrets: an id to name them by, their scopes, and whether
-- they are accepted.
SELECT
    token.id,
    account.email,
    token.name,
    token.scopes,
    token.created_at,
    token.expires_at,
    token.last_used_at,
    token.revoked_at,
    COALESCE(token.expires_at <= clock_timestamp(), FALSE) AS expired,
    account.disabled_at IS NOT NULL AS closed
FROM api_tokens AS token
JOIN accounts AS account ON account.id = token.account_id
WHERE account.email = :email
   OR CAST(:email AS text) IS NULL
ORDER BY account.email, token.id

-- name: revoke
-- Revoke tokens: one by its id, one by its secret, or all of a person's.
UPDATE api_tokens AS token
SET revoked_at = clock_timestamp()
FROM accounts AS account
WHERE account.id = token.account_id
  AND token.revoked_at IS NULL
  AND (token.id = :id OR token.token_hash = :token_hash OR account.email = :email)
RETURNING token.id, account.email

-- name: revoke_own
-- Revoke one token of this account by its id, unless it is revoked already.
UPDATE api_tokens
SET revoked_at = clock_timestamp()
WHERE id = :id
  AND account_id = :account_id
  AND revoked_at IS NULL
RETURNING id

-- name: touch
-- Record that a token was used, at most once a minute. It waits for nothing: a token that is being changed is left to
-- its next use, and the commit waits for no disk.
WITH used AS MATERIALIZED (
    SELECT id
    FROM api_tokens
    WHERE id = :id
      AND (last_used_at IS NULL OR last_used_at < clock_timestamp() - INTERVAL '1 minute')
      AND set_config('synchronous_commit', 'off', TRUE) = 'off'
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE api_tokens AS token
SET last_used_at = clock_timestamp()
FROM used
WHERE token.id = used.id
