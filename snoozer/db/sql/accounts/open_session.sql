-- Open a session, and end the session that it replaces in the same browser. Following a mailed link verifies the
-- address. The session is confirmed only if the person showed just now who they are.
WITH verified AS (
    UPDATE accounts
    SET verified_at = COALESCE(verified_at, clock_timestamp()),
        signed_in_at = clock_timestamp()
    WHERE id = :account_id
      AND disabled_at IS NULL
    RETURNING id
),
replaced AS (
    DELETE FROM sessions
    WHERE token_hash = CAST(:replaced_hash AS text)
      AND EXISTS (SELECT FROM verified)
)
INSERT INTO sessions (account_id, token_hash, device, confirmed_at, expires_at)
SELECT
    id,
    :token_hash,
    :device,
    CASE WHEN CAST(:confirmed AS boolean) THEN clock_timestamp() END,
    clock_timestamp() + :lifetime
FROM verified
RETURNING account_id
