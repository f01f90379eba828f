-- The snoozes that have been due the longest.
SELECT id, remind_at, scheduled_for, CURRENT_TIMESTAMP - remind_at AS overdue, attempts, max_attempts, crash_count
FROM email_snoozes
WHERE NOT inactive
  AND claimed_at IS NULL
  AND remind_at <= CURRENT_TIMESTAMP
ORDER BY remind_at
LIMIT 100
