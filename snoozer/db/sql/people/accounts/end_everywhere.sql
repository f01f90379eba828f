-- End every session of this account except that of `kept_hash`, if given, and everything that could become one: mailed
-- sign-in links, sign-ins at mail providers that have begun, the marks of browsers that signed in before. With `tokens`
-- revoke its API tokens, too, and with `feeds` delete its feeds, whose URLs then stop working.
WITH links AS (
    UPDATE sign_ins
    SET used_at = clock_timestamp()
    WHERE account_id = :account_id
      AND used_at IS NULL
),
begun AS (
    DELETE FROM mailbox_sign_ins WHERE account_id = :account_id
),
marks AS (
    UPDATE accounts
    SET browsers_forgotten = browsers_forgotten + 1
    WHERE id = :account_id
),
revoked AS (
    UPDATE api_tokens
    SET revoked_at = clock_timestamp()
    WHERE account_id = :account_id
      AND revoked_at IS NULL
      AND :tokens
),
forgotten AS (
    DELETE FROM feeds
    WHERE account_id = :account_id
      AND :feeds
)
DELETE FROM sessions
WHERE account_id = :account_id
  AND token_hash IS DISTINCT FROM CAST(:kept_hash AS text)
RETURNING id
