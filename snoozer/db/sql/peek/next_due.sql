-- Seconds until the next snooze is due; with not_due_yet, until the next one that is not due yet.
SELECT extract(epoch FROM remind_at - clock_timestamp()) AS seconds
FROM email_snoozes
WHERE NOT inactive
  AND claimed_at IS NULL
  AND attempts < max_attempts
  AND schema_version <= :known_schema
  AND (NOT :not_due_yet OR remind_at > CURRENT_TIMESTAMP)
ORDER BY remind_at
LIMIT 1
