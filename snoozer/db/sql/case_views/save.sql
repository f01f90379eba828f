-- Save a filter under an operator's name for it, replacing an older one of this name; no row if the operator has
-- `max_views` others.
INSERT INTO case_views (account_id, name, filter)
SELECT :account_id, :view_name, CAST(:filter AS jsonb)
WHERE (SELECT count(*) FROM case_views WHERE account_id = :account_id AND name <> :view_name) < :max_views
ON CONFLICT (account_id, name) DO UPDATE
SET filter = EXCLUDED.filter
RETURNING id
