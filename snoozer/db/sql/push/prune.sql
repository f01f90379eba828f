-- Delete pushes that ended more than 30 days ago.
DELETE FROM push_sends
WHERE id = ANY(ARRAY(
    SELECT id
    FROM push_sends
    WHERE created_at < CURRENT_TIMESTAMP - INTERVAL '30 days'
      AND state IN ('sent', 'failed', 'uncertain')
    ORDER BY created_at
    LIMIT :batch_size
))
RETURNING id
