-- Record that a token was used, at most once a minute. It waits for nothing: a token that is being changed is left to
-- its next use, and the commit waits for no disk.
WITH used AS MATERIALIZED (
    SELECT id
    FROM api_tokens
    WHERE id = :id
      AND (last_used_at IS NULL OR last_used_at < clock_timestamp() - INTERVAL '1 minute')
      AND set_config('synchronous_commit', 'off', TRUE) = 'off'
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE api_tokens AS token
SET last_used_at = clock_timestamp()
FROM used
WHERE token.id = used.id
