-- Give an account a role; the role that its groups give stays. No row if the account does not exist.
UPDATE accounts AS account
SET role = :role
FROM accounts AS before
WHERE account.id = :id
  AND before.id = account.id
RETURNING account.id, account.email, before.role AS role_before, account.role
