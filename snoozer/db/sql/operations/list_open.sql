-- Unfinished operations, the longest untouched first.
SELECT id
FROM operations
WHERE finished_at IS NULL
ORDER BY worked_at NULLS FIRST, id
LIMIT :limit
