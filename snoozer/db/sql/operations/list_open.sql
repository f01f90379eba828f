-- Operations that are not finished, those that were worked on the longest ago first.
SELECT id
FROM operations
WHERE finished_at IS NULL
ORDER BY worked_at NULLS FIRST, id
LIMIT :limit
