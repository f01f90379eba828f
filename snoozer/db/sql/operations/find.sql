-- The operation that was entered for a form.
SELECT id
FROM operations
WHERE form = :form
