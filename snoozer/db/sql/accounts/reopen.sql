-- The account is open again, and its tokens are taken again. Nothing comes back when there is none.
UPDATE accounts AS account
SET disabled_at = NULL
FROM accounts AS before
WHERE account.email = :email
  AND before.id = account.id
RETURNING account.id, account.email, before.disabled_at IS NOT NULL AS changed
