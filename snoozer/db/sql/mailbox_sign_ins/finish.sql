-- Take a sign-in that this session of the account began: only one request gets it, before it exchanges the code.
-- Zero rows: it began in another browser, was finished, or expired.
DELETE FROM mailbox_sign_ins
WHERE state_hash = :state_hash
  AND session_hash = :session_hash
  AND account_id = :account_id
  AND created_at >= clock_timestamp() - INTERVAL '15 minutes'
RETURNING mailbox_id, provider, address, verifier
