-- Raises an error (25006) where nothing can be written; locks no row.
SELECT 1
FROM workers
WHERE FALSE
FOR NO KEY UPDATE
