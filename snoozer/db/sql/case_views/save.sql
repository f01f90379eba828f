-- Keep a filter by an operator's name for it, in the place of one that has this name; no row where the operator has
-- `max_views` others.
INSERT INTO case_views (account_id, name, filter)
SELECT :account_id, :view_name, CAST(:filter AS jsonb)
WHERE (SELECT count(*) FROM case_views WHERE account_id = :account_id AND name <> :view_name) < :max_views
ON CONFLICT (account_id, name) DO UPDATE
SET filter = EXCLUDED.filter
RETURNING id
