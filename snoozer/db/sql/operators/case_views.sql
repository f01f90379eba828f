-- name: delete
-- Delete an operator's filter; no row if the operator has no filter with this id.
DELETE FROM case_views
WHERE id = :id
  AND account_id = :account_id
RETURNING name

-- name: of_account
-- An operator's filters of the list of cases, by their names.
SELECT id, name, filter
FROM case_views
WHERE account_id = :account_id
ORDER BY lower(name), id

-- name: save
-- Save a filter under an operator's name for it, replacing an older one of this name; no row if the operator has
-- `max_views` others.
INSERT INTO case_views (account_id, name, filter)
SELECT :account_id, :view_name, CAST(:filter AS jsonb)
WHERE (SELECT count(*) FROM case_views WHERE account_id = :account_id AND name <> :view_name) < :max_views
ON CONFLICT (account_id, name) DO UPDATE
SET filter = EXCLUDED.filter
RETURNING id
