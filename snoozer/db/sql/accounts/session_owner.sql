-- The account of an unexpired session; a session that is idle for :idle_for is expired.
SELECT account_id
FROM sessions
JOIN accounts ON accounts.id = sessions.account_id
WHERE token_hash = :token_hash
  AND expires_at > clock_timestamp()
  AND seen_at > clock_timestamp() - CAST(:idle_for AS interval)
  AND accounts.disabled_at IS NULL
