-- Connected mailboxes: how many there are, are watched by no process, cannot be used for some minutes,
-- and how many messages in them should be back, the oldest since when.
SELECT
    count(*) AS connected,
    count(*) FILTER (
        WHERE state <> 'paused'
          AND COALESCE(owned_until, '-infinity') < clock_timestamp() - INTERVAL '1 minute'
    ) AS unwatched,
    count(*) FILTER (WHERE problem_since < clock_timestamp() - INTERVAL '5 minutes') AS failing,
    (
        SELECT count(*)
        FROM mailbox_messages
        WHERE GREATEST(returns_at, deferred_until) < CURRENT_TIMESTAMP - INTERVAL '1 minute'
          AND returns_at IS NOT NULL
    ) AS overdue,
    (
        SELECT min(GREATEST(returns_at, deferred_until))
        FROM mailbox_messages
        WHERE GREATEST(returns_at, deferred_until) < CURRENT_TIMESTAMP - INTERVAL '1 minute'
          AND returns_at IS NOT NULL
    ) AS oldest
FROM mailboxes
