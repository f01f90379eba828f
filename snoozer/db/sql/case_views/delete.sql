-- Delete one of an operator's filters; no row if the operator has no filter with this id.
DELETE FROM case_views
WHERE id = :id
  AND account_id = :account_id
RETURNING name
