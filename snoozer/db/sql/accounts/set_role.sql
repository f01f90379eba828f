-- Give an account a role; the one that its groups give stays. Returns no row where there is no such account.
UPDATE accounts AS account
SET role = :role
FROM accounts AS before
WHERE account.id = :id
  AND before.id = account.id
RETURNING account.id, account.email, before.role AS role_before, account.role
