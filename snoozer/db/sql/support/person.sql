-- What one person has: snoozes by what they wait for or how they ended, the next time of each kind, and since when.
SELECT
    waits.state,
    count(*) AS snoozes,
    min(snooze.remind_at) AS first_time,
    max(snooze.remind_at) AS last_time,
    max(snooze.attempts) AS most_attempts,
    max(snooze.last_error_at) AS last_failed
FROM email_snoozes AS snooze
CROSS JOIN LATERAL snooze_waits_for(snooze, :known_schema) AS waits
WHERE snooze.user_email = lower(CAST(:person AS text))
GROUP BY waits.state
ORDER BY waits.state
