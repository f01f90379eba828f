-- Defer the return of kept messages, or of those in connected mailboxes, that are due within a rest of their owners, to
-- its end.
WITH due AS MATERIALIZED (
    SELECT message.id, deferral.until
    FROM messages AS message
    CROSS JOIN LATERAL snooze_deferral(message.user_email, message.snooze_id, message.returns_at) AS deferral
    WHERE message.is_kept = :kept
      AND GREATEST(message.returns_at, message.deferred_until) <= CURRENT_TIMESTAMP
      AND message.returns_at IS NOT NULL
      AND message.snooze_id IS NOT NULL
      AND message.user_email IN (
          SELECT account.email
          FROM day_shapes AS day
          JOIN accounts AS account ON account.id = day.account_id
          WHERE clock_timestamp() >= day.rest_from
            AND clock_timestamp() < day.rest_until
      )
      AND deferral.reason IS NOT NULL
    ORDER BY message.id
    LIMIT :batch_size
    FOR NO KEY UPDATE OF message SKIP LOCKED
)
UPDATE messages AS message
SET deferred_until = due.until
FROM due
WHERE message.id = due.id
RETURNING message.id
