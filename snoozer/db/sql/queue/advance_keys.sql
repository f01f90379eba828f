-- Let claims consider the first four waiting rows of each of these keys again. Waits for no lock: locked rows stay
-- behind until the next call.
WITH waiting AS MATERIALIZED (
    SELECT DISTINCT first.id
    FROM unnest(CAST(:keys AS text[])) AS requested (key)
    CROSS JOIN LATERAL (
        SELECT id, behind_key
        FROM email_snoozes
        WHERE serialization_key = requested.key
          AND NOT inactive
          AND claimed_at IS NULL
          AND attempts < max_attempts
          AND schema_version <= :known_schema
        ORDER BY remind_at, id
        LIMIT 4
    ) AS first
    WHERE first.behind_key
),
locked AS MATERIALIZED (
    SELECT snooze.id
    FROM email_snoozes AS snooze
    JOIN waiting ON waiting.id = snooze.id
    WHERE snooze.behind_key
    FOR NO KEY UPDATE OF snooze SKIP LOCKED
)
UPDATE email_snoozes AS snooze
SET behind_key = FALSE
FROM locked
WHERE snooze.id = locked.id
RETURNING snooze.id
