-- Whether an open account was given the role admin (other than by groups), and its owner has not asked for its
-- deletion.
SELECT EXISTS (
    SELECT 1
    FROM accounts
    WHERE role = 'admin'
      AND disabled_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM account_deletions WHERE account_deletions.account_id = accounts.id)
) AS found
