-- A sign-in that this session of the account began. Zero rows: it began in another browser, was finished, or expired.
SELECT mailbox_id, provider, address, verifier
FROM mailbox_sign_ins
WHERE state_hash = :state_hash
  AND session_hash = :session_hash
  AND account_id = :account_id
  AND created_at >= clock_timestamp() - INTERVAL '15 minutes'
