-- An operator's filters of the list of cases, by their names.
SELECT id, name, filter
FROM case_views
WHERE account_id = :account_id
ORDER BY lower(name), id
