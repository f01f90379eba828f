-- Open a session. Following a mailed link verifies the address.
WITH verified AS (
    UPDATE accounts
    SET verified_at = COALESCE(verified_at, clock_timestamp())
    WHERE id = :account_id
      AND disabled_at IS NULL
    RETURNING id
)
INSERT INTO sessions (account_id, token_hash, expires_at)
SELECT id, :token_hash, clock_timestamp() + :lifetime
FROM verified
RETURNING account_id
