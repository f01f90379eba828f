-- Seconds until the next kept message returns to the inbox.
SELECT extract(epoch FROM min(GREATEST(returns_at, deferred_until)) - clock_timestamp()) AS seconds
FROM messages
WHERE is_kept
  AND returns_at IS NOT NULL
