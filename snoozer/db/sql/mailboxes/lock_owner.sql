-- Lock an account that is open, so that one transaction at a time counts and connects its mailboxes. Returns its id;
-- zero rows if it is closed.
SELECT id
FROM accounts
WHERE id = :account_id
  AND disabled_at IS NULL
FOR NO KEY UPDATE
