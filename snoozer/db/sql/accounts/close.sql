-- Close an account: signing in and its tokens are refused. Returns no row where there is no such account.
UPDATE accounts AS account
SET disabled_at = COALESCE(account.disabled_at, clock_timestamp())
FROM accounts AS before
WHERE account.email = :email
  AND before.id = account.id
RETURNING account.id, account.email, before.disabled_at IS NULL AS changed
