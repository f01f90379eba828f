-- The priorities of due snoozes, highest first, by skipping through the index from one to the next; and the
-- transaction's time, to which "due" refers.
WITH RECURSIVE level AS (
    (
        SELECT priority
        FROM email_snoozes
        WHERE NOT inactive
          AND claimed_at IS NULL
        ORDER BY priority DESC
        LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT lower.priority
        FROM email_snoozes AS lower
        WHERE NOT lower.inactive
          AND lower.claimed_at IS NULL
          AND lower.priority < level.priority
        ORDER BY lower.priority DESC
        LIMIT 1
    )
    FROM level
    WHERE level.priority IS NOT NULL
)
SELECT priority, CURRENT_TIMESTAMP AS now
FROM level
WHERE EXISTS (
    SELECT 1
    FROM email_snoozes AS due
    WHERE NOT due.inactive
      AND due.claimed_at IS NULL
      AND due.priority = level.priority
      AND due.remind_at <= CURRENT_TIMESTAMP
)
