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
