-- Messages whose time of return is not that of their snooze.
CREATE OR REPLACE VIEW invariant_messages_return AS
SELECT
    snooze_id,
    NULL::bigint AS send_id,
    GREATEST(GREATEST(returns_at, deferred_until), snooze_server_met()) AS since,
    'its message is not back in the inbox' AS what
FROM messages
WHERE is_kept
  AND GREATEST(returns_at, deferred_until) <= CURRENT_TIMESTAMP
  AND returns_at IS NOT NULL
  AND GREATEST(GREATEST(returns_at, deferred_until), snooze_server_met())
    < clock_timestamp() - snooze_term('sweep_seconds', 5) - INTERVAL '10 seconds'
  AND (
      NOT EXISTS (SELECT 1 FROM pauses WHERE ended_at IS NULL)
      OR snooze_pause(user_email, NULL, 'mailbox') IS NULL
  );
