-- Close an account: sign-ins and its tokens are refused. No row if the account does not exist.
UPDATE accounts AS account
SET disabled_at = COALESCE(account.disabled_at, clock_timestamp())
FROM accounts AS before
WHERE account.email = :email
  AND before.id = account.id
RETURNING account.id, account.email, before.disabled_at IS NULL AS changed
