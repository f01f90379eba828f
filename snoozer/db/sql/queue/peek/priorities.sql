-- Up to :limit priorities below a given one that have due rows, highest first, by skipping through the index from one
-- to the next; the lanes with due rows (0: no key, 1: with a key; 2, 3: the same for rows that lost one worker); and
-- the transaction's time, to which "due" refers. No row while the breaker of the given mail server is not closed, or
-- while operators have paused everything. The walk ends with the last wanted priority.
WITH RECURSIVE level AS (
    (
        SELECT priority
        FROM email_snoozes
        WHERE NOT inactive
          AND claimed_at IS NULL
          AND NOT behind_key
          AND priority < CAST(:below AS integer)
          AND NOT EXISTS (
              SELECT 1
              FROM circuit_breakers
              WHERE server = CAST(:server AS text)
                AND state <> 'closed'
          )
          AND NOT EXISTS (
              SELECT 1
              FROM pauses
              WHERE ended_at IS NULL
                AND (kind = 'all' OR (kind = 'channel' AND value = 'mail'))
                AND (until IS NULL OR until > CURRENT_TIMESTAMP)
          )
        ORDER BY priority DESC
        LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT lower.priority
        FROM email_snoozes AS lower
        WHERE NOT lower.inactive
          AND lower.claimed_at IS NULL
          AND NOT lower.behind_key
          AND lower.priority < level.priority
        ORDER BY lower.priority DESC
        LIMIT 1
    )
    FROM level
    WHERE level.priority IS NOT NULL
)
SELECT level.priority, due.lanes, CURRENT_TIMESTAMP AS now
FROM level
CROSS JOIN LATERAL (
    SELECT array_agg(lane.number ORDER BY lane.number) AS lanes
    FROM (VALUES (0, 0, 0), (1, 0, 1), (2, 1, 0), (3, 1, 1)) AS lane (number, crashes, keyed)
    WHERE CURRENT_TIMESTAMP >= (
        SELECT first.remind_at
        FROM email_snoozes AS first
        WHERE NOT first.inactive
          AND first.claimed_at IS NULL
          AND NOT first.behind_key
          AND first.priority = level.priority
          AND LEAST(first.crash_count, 2) = lane.crashes
          AND num_nonnulls(first.serialization_key) = lane.keyed
        ORDER BY first.remind_at, first.id
        LIMIT 1
    )
) AS due
WHERE due.lanes IS NOT NULL
LIMIT :limit
