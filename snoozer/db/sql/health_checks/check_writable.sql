-- Fails where nothing can be written (25006), and locks no row.
SELECT 1
FROM workers
WHERE FALSE
FOR NO KEY UPDATE
