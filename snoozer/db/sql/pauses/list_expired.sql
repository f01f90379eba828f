-- Pauses whose time is over and that were not ended yet.
SELECT id
FROM pauses
WHERE ended_at IS NULL
  AND until <= CURRENT_TIMESTAMP
ORDER BY id
LIMIT :limit
