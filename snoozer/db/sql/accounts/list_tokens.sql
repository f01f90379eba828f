-- The tokens of one person, or of all people, without the secrets: an id to name them by, and whether they are
-- accepted.
SELECT
    token.id,
    account.email,
    token.created_at,
    token.revoked_at,
    account.disabled_at IS NOT NULL AS closed
FROM api_tokens AS token
JOIN accounts AS account ON account.id = token.account_id
WHERE account.email = :email
   OR CAST(:email AS text) IS NULL
ORDER BY account.email, token.id
