-- Set the role that an account's groups give it, and the time. Returns the role that they gave before.
UPDATE accounts AS account
SET group_role = CAST(:role AS text),
    group_role_at = clock_timestamp()
FROM accounts AS before
WHERE account.id = :id
  AND before.id = account.id
RETURNING before.group_role AS role_before
