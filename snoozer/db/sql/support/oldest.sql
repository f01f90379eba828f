-- The snoozes that have been due the longest, and what each waits for.
SELECT
    snooze.id,
    snooze.remind_at,
    snooze.scheduled_for,
    CURRENT_TIMESTAMP - snooze.remind_at AS overdue,
    snooze.attempts,
    snooze.max_attempts,
    snooze.crash_count,
    CASE waits.state
        WHEN 'spent' THEN 'to become a case'
        WHEN 'newer' THEN 'a newer release'
        WHEN 'key' THEN 'others of its key'
        WHEN 'uncertain' THEN 'a worker: it may have been sent'
        WHEN 'digest' THEN 'the digest that lists it'
        ELSE 'a worker'
    END AS waits_for
FROM email_snoozes AS snooze
CROSS JOIN LATERAL snooze_waits_for(snooze, :known_schema) AS waits
WHERE NOT snooze.inactive
  AND snooze.claimed_at IS NULL
  AND snooze.remind_at <= CURRENT_TIMESTAMP
ORDER BY snooze.remind_at, snooze.id
LIMIT 100
