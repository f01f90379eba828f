-- The snoozes that have been due the longest, and what each waits for.
SELECT
    oldest.id,
    oldest.remind_at,
    oldest.scheduled_for,
    CURRENT_TIMESTAMP - oldest.remind_at AS overdue,
    oldest.attempts,
    oldest.max_attempts,
    oldest.crash_count,
    CASE
        WHEN oldest.attempts >= oldest.max_attempts THEN 'to become a case'
        WHEN oldest.schema_version > :known_schema THEN 'a newer release'
        WHEN EXISTS (
            SELECT 1
            FROM email_snoozes AS same
            WHERE same.serialization_key = oldest.serialization_key
              AND (
                  same.claimed_at IS NOT NULL
                  OR (
                      NOT same.inactive
                      AND same.attempts < same.max_attempts
                      AND same.schema_version <= :known_schema
                      AND (same.remind_at, same.id) < (oldest.remind_at, oldest.id)
                  )
              )
        ) THEN 'others of its key'
        ELSE 'a worker'
    END AS waits_for
FROM (
    SELECT *
    FROM email_snoozes
    WHERE NOT inactive
      AND claimed_at IS NULL
      AND remind_at <= CURRENT_TIMESTAMP
    ORDER BY remind_at
    LIMIT 100
) AS oldest
ORDER BY oldest.remind_at, oldest.id
