-- Delete one of an operator's filters; no row where the operator has none with this id.
DELETE FROM case_views
WHERE id = :id
  AND account_id = :account_id
RETURNING name
