-- Forget this person's import and its rows.
DELETE FROM imports
WHERE account_id = :account_id
RETURNING id
