-- Record that the person of this session confirmed their identity again.
UPDATE sessions
SET confirmed_at = clock_timestamp()
WHERE token_hash = :token_hash
  AND account_id = :account_id
RETURNING id
