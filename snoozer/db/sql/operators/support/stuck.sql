-- Claims held longer than their lease, and by whom.
SELECT id, claimed_by, claimed_at, lease_expires_at, attempts, crash_count
FROM email_snoozes
WHERE claimed_at IS NOT NULL
  AND lease_expires_at < CURRENT_TIMESTAMP
ORDER BY lease_expires_at, id
LIMIT 100
