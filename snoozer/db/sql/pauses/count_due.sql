-- How many of the snoozes that are due within an hour, the soonest first, a pause would set aside.
SELECT
    count(*) AS looked_at,
    count(*) FILTER (
        WHERE CAST(:kind AS text) = 'all'
           OR (:kind = 'channel' AND CAST(:value AS text) = 'mail')
           OR (:kind IN ('person', 'invalid') AND lower(user_email) = :value)
           OR (:kind = 'domain' AND snooze_recipient_domain(user_email) = :value)
           OR (:kind = 'class' AND CAST(priority AS text) = :value)
    ) AS paused
FROM (
    SELECT user_email, priority
    FROM email_snoozes
    WHERE NOT inactive
      AND claimed_at IS NULL
      AND remind_at <= CURRENT_TIMESTAMP + INTERVAL '1 hour'
    ORDER BY remind_at
    LIMIT :limit
) AS soonest
