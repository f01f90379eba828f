-- Seconds until the next snooze is due; with not_due_yet, until the next one that is not due yet, where the index is
-- entered behind all that are due, however many.
SELECT extract(epoch FROM remind_at - clock_timestamp()) AS seconds
FROM email_snoozes
WHERE NOT inactive
  AND claimed_at IS NULL
  AND attempts < max_attempts
  AND schema_version <= :known_schema
  AND remind_at > CASE WHEN :not_due_yet THEN CURRENT_TIMESTAMP ELSE '-infinity' END
ORDER BY remind_at
LIMIT 1
