-- The snoozes that have been due the longest, and what each waits for.
SELECT
    snooze.id,
    snooze.remind_at,
    snooze.scheduled_for,
    CURRENT_TIMESTAMP - snooze.remind_at AS overdue,
    snooze.attempts,
    snooze.max_attempts,
    snooze.crash_count,
    CASE
        WHEN its.why = 'spent' THEN 'to become a case'
        WHEN its.why = 'newer' THEN 'a newer release'
        WHEN its.why = 'key' THEN 'others of its key'
        WHEN its.why = 'digest' THEN 'the digest that lists it'
        WHEN its.state = 'uncertain' THEN 'a worker: it may have been sent'
        ELSE 'a worker'
    END AS waits_for
FROM email_snoozes AS snooze
CROSS JOIN LATERAL snooze_state(snooze, :known_schema) AS its
WHERE NOT snooze.inactive
  AND snooze.claimed_at IS NULL
  AND snooze.remind_at <= CURRENT_TIMESTAMP
ORDER BY snooze.remind_at, snooze.id
LIMIT 100
