-- Raise an error (25006) if the server is read-only; locks no row.
SELECT 1
FROM workers
WHERE FALSE
FOR NO KEY UPDATE
