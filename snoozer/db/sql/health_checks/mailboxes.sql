-- Connected mailboxes: how many there are, are watched by no process, cannot be used for some minutes, and how many messages
-- in them should be back, as support/mailboxes.sql counts; and whether one is left alone, or overdue, for over a minute.
SELECT
    count(*) AS connected,
    count(*) FILTER (WHERE state <> 'paused' AND COALESCE(owned_until, '-infinity') <= clock_timestamp()) AS unwatched,
    COALESCE(
        bool_or(state <> 'paused' AND COALESCE(owned_until, '-infinity') < clock_timestamp() - INTERVAL '1 minute'), FALSE
    ) AS left_alone,
    count(*) FILTER (WHERE problem_since < clock_timestamp() - INTERVAL '5 minutes') AS failing,
    (
        SELECT count(*)
        FROM mailbox_messages
        WHERE GREATEST(returns_at, deferred_until) <= CURRENT_TIMESTAMP
          AND returns_at IS NOT NULL
    ) AS overdue,
    (
        SELECT min(GREATEST(returns_at, deferred_until))
        FROM mailbox_messages
        WHERE GREATEST(returns_at, deferred_until) <= CURRENT_TIMESTAMP
          AND returns_at IS NOT NULL
    ) AS oldest,
    EXISTS (
        SELECT 1
        FROM mailbox_messages
        WHERE GREATEST(returns_at, deferred_until) < CURRENT_TIMESTAMP - INTERVAL '1 minute'
          AND returns_at IS NOT NULL
    ) AS late
FROM mailboxes
