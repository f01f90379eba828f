-- The account of an unexpired session; one that is idle for two weeks is expired.
SELECT account_id
FROM sessions
JOIN accounts ON accounts.id = sessions.account_id
WHERE token_hash = :token_hash
  AND expires_at > clock_timestamp()
  AND seen_at > clock_timestamp() - INTERVAL '14 days'
  AND accounts.disabled_at IS NULL
