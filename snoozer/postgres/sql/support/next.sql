-- How many seconds until the next snooze is due; nothing when none is waiting.
SELECT extract(epoch FROM remind_at - clock_timestamp()) AS seconds
FROM email_snoozes
WHERE NOT inactive
  AND claimed_at IS NULL
  AND attempts < max_attempts
ORDER BY remind_at, id
LIMIT 1
