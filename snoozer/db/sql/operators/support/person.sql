-- The snoozes of one person by their state and why they wait, with the next time of each kind.
SELECT
    its.state,
    its.why,
    count(*) AS snoozes,
    min(snooze.remind_at) AS first_time,
    max(snooze.remind_at) AS last_time,
    max(snooze.attempts) AS most_attempts,
    max(snooze.last_error_at) AS last_failed
FROM email_snoozes AS snooze
CROSS JOIN LATERAL snooze_state(snooze, :known_schema) AS its
WHERE snooze.user_email = lower(CAST(:person AS text))
GROUP BY its.state, its.why
ORDER BY its.state, its.why
