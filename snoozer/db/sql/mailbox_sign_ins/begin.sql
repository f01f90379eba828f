-- Store a sign-in that begins, for this session, and delete sign-ins that were not finished in time.
WITH expired AS (
    DELETE FROM mailbox_sign_ins
    WHERE created_at < clock_timestamp() - INTERVAL '15 minutes'
)
INSERT INTO mailbox_sign_ins (state_hash, session_hash, account_id, mailbox_id, provider, address, verifier)
VALUES (:state_hash, :session_hash, :account_id, :mailbox_id, :provider, :address, :verifier)
