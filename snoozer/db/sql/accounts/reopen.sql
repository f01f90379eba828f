-- Open a closed account again; its tokens are accepted again. No row if the account does not exist or is being deleted.
UPDATE accounts AS account
SET disabled_at = NULL
FROM accounts AS before
WHERE account.email = :email
  AND NOT EXISTS (
      SELECT 1 FROM account_deletions WHERE account_id = account.id AND begun_at IS NOT NULL
  )
  AND before.id = account.id
RETURNING account.id, account.email, before.disabled_at IS NOT NULL AS changed
