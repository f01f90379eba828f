-- Up to :limit keys, in order from a given one on, that have a row waiting behind others: by skipping through the
-- index.
WITH RECURSIVE key AS (
    (
        SELECT serialization_key AS name
        FROM email_snoozes
        WHERE NOT inactive
          AND claimed_at IS NULL
          AND behind_key
          AND serialization_key >= :from_key
        ORDER BY serialization_key
        LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT following.serialization_key
        FROM email_snoozes AS following
        WHERE NOT following.inactive
          AND following.claimed_at IS NULL
          AND following.behind_key
          AND following.serialization_key > key.name
        ORDER BY following.serialization_key
        LIMIT 1
    )
    FROM key
    WHERE key.name IS NOT NULL
)
SELECT name
FROM key
WHERE name IS NOT NULL
LIMIT :limit
