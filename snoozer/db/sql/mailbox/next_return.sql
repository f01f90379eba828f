-- Seconds until the next kept message returns to the inbox.
SELECT extract(epoch FROM min(GREATEST(returns_at, deferred_until)) - clock_timestamp()) AS seconds
FROM kept_messages
WHERE returns_at IS NOT NULL
