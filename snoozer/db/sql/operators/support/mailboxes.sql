-- Connected mailboxes by state and problem, how many a process watches or ought to, and what is overdue or to be moved.
-- Codes and counts, no addresses.
WITH mailbox AS (
    SELECT
        state,
        COALESCE(problem, 'none') AS problem,
        state <> 'paused' AS is_to_be_watched,
        COALESCE(owned_until > clock_timestamp(), FALSE) AS is_watched
    FROM mailboxes
),
late AS (
    SELECT count(*) AS messages, min(GREATEST(returns_at, deferred_until)) AS oldest
    FROM messages
    WHERE NOT is_kept
      AND GREATEST(returns_at, deferred_until) <= CURRENT_TIMESTAMP
      AND returns_at IS NOT NULL
)
SELECT
    (
        SELECT COALESCE(jsonb_agg(jsonb_build_object('state', state, 'problem', problem, 'value', mailboxes)), '[]')
        FROM (SELECT state, problem, count(*) AS mailboxes FROM mailbox GROUP BY state, problem) AS alike
    ) AS connected,
    (SELECT count(*) FROM mailbox WHERE is_watched) AS watched,
    (SELECT count(*) FROM mailbox WHERE is_to_be_watched AND NOT is_watched) AS unwatched,
    (SELECT messages FROM late) AS overdue,
    COALESCE((SELECT extract(epoch FROM clock_timestamp() - oldest) FROM late), 0) AS oldest_overdue_seconds,
    (
        SELECT count(*)
        FROM messages
        WHERE mailbox_id IS NOT NULL
          AND (wanted <> place OR moving_to IS NOT NULL)
    ) AS moves_waiting
