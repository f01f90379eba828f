-- name: begin
-- Store a sign-in that begins, for this session, and delete sign-ins that were not finished in time.
WITH expired AS (
    DELETE FROM mailbox_sign_ins
    WHERE created_at < clock_timestamp() - INTERVAL '15 minutes'
)
INSERT INTO mailbox_sign_ins (state_hash, session_hash, account_id, mailbox_id, provider, address, verifier)
VALUES (:state_hash, :session_hash, :account_id, :mailbox_id, :provider, :address, :verifier)

-- name: find
-- A sign-in that this session of the account began. Zero rows: it began in another browser, was finished, or expired.
SELECT mailbox_id, provider, address, verifier
FROM mailbox_sign_ins
WHERE state_hash = :state_hash
  AND session_hash = :session_hash
  AND account_id = :account_id
  AND created_at >= clock_timestamp() - INTERVAL '15 minutes'

-- name: finish
-- Take a sign-in that this session of the account began: only one request gets it, before it exchanges the code.
-- Zero rows: it began in another browser, was finished, or expired.
DELETE FROM mailbox_sign_ins
WHERE state_hash = :state_hash
  AND session_hash = :session_hash
  AND account_id = :account_id
  AND created_at >= clock_timestamp() - INTERVAL '15 minutes'
RETURNING mailbox_id, provider, address, verifier
