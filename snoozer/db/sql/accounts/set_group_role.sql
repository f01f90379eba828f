-- Set what the groups of an account give it. Returns what they gave before, no row where that is the same.
UPDATE accounts AS account
SET group_role = CAST(:role AS text)
FROM accounts AS before
WHERE account.id = :id
  AND before.id = account.id
  AND before.group_role IS DISTINCT FROM CAST(:role AS text)
RETURNING before.group_role AS role_before
