-- Connected mailboxes: how many there are, are watched by no process, cannot be used for some minutes, and how many messages
-- in them should be back, as support/mailboxes.sql counts; and whether one is left alone, or overdue, for over a minute.
SELECT
    count(mailboxes.id) AS connected,
    count(*) FILTER (WHERE state <> 'paused' AND COALESCE(owned_until, '-infinity') <= clock_timestamp()) AS unwatched,
    COALESCE(
        bool_or(state <> 'paused' AND COALESCE(owned_until, '-infinity') < clock_timestamp() - INTERVAL '1 minute'), FALSE
    ) AS left_alone,
    count(*) FILTER (WHERE problem_since < clock_timestamp() - INTERVAL '5 minutes') AS failing,
    overdue.count AS overdue,
    overdue.oldest,
    COALESCE(overdue.oldest < CURRENT_TIMESTAMP - INTERVAL '1 minute', FALSE) AS late
FROM (
    SELECT count(*) AS count, min(GREATEST(returns_at, deferred_until)) AS oldest
    FROM messages
    WHERE NOT is_kept
      AND GREATEST(returns_at, deferred_until) <= CURRENT_TIMESTAMP
      AND returns_at IS NOT NULL
) AS overdue
LEFT JOIN mailboxes ON TRUE
GROUP BY overdue.count, overdue.oldest
