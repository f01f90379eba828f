-- Forget imports that were not confirmed within a day, with their rows.
DELETE FROM imports
WHERE id = ANY(ARRAY(
    SELECT id FROM imports WHERE created_at < CURRENT_TIMESTAMP - INTERVAL '1 day' LIMIT :batch_size
))
RETURNING id
