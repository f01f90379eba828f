-- Record that a session was used; written at most once an hour.
UPDATE sessions
SET seen_at = clock_timestamp()
WHERE token_hash = :token_hash
  AND seen_at < clock_timestamp() - INTERVAL '1 hour'
