-- Seconds until the next work in each mailbox of this owner: a message is due within two seconds, or is not where it
-- should be, or is to be searched for. Missing messages do not count; they wait for the next search.
WITH work AS (
    SELECT mailbox_id, GREATEST(returns_at, deferred_until) AS at
    FROM messages
    WHERE NOT is_kept
      AND GREATEST(returns_at, deferred_until) <= CURRENT_TIMESTAMP + INTERVAL '2 seconds'
      AND returns_at IS NOT NULL
      AND place <> 'missing'
      AND (
          NOT EXISTS (SELECT 1 FROM pauses WHERE ended_at IS NULL)
          OR snooze_pause(user_email, NULL, 'mailbox') IS NULL
      )
    UNION ALL
    SELECT mailbox_id, CURRENT_TIMESTAMP
    FROM messages
    WHERE mailbox_id IS NOT NULL
      AND (wanted <> place OR moving_to IS NOT NULL)
      AND place <> 'missing'
    UNION ALL
    SELECT mailbox_id, CURRENT_TIMESTAMP
    FROM mailbox_searches
    WHERE found IS NULL
       OR entered_at < CURRENT_TIMESTAMP - INTERVAL '1 minute'
)
SELECT
    work.mailbox_id AS id,
    GREATEST(extract(epoch FROM min(work.at) - clock_timestamp()), 0) AS seconds
FROM work
JOIN mailboxes AS mailbox ON mailbox.id = work.mailbox_id
WHERE mailbox.owner = :owner
GROUP BY work.mailbox_id
