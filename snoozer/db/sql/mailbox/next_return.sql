-- Seconds until the next kept message returns to the inbox.
SELECT extract(epoch FROM min(returns_at) - clock_timestamp()) AS seconds
FROM kept_messages
WHERE returns_at IS NOT NULL
