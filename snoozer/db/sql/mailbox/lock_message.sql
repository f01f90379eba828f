-- Lock the message of a snooze, here and in the mailboxes that it is in, after that snooze and before one is inserted or
-- revived: acts on many take them in this order, too.
WITH kept AS MATERIALIZED (
    SELECT id
    FROM kept_messages
    WHERE user_email = :user_email
      AND message_id = :message_id
    FOR NO KEY UPDATE
),
connected AS MATERIALIZED (
    SELECT id
    FROM mailbox_messages
    WHERE user_email = :user_email
      AND message_id = :message_id
    ORDER BY id
    FOR NO KEY UPDATE
)
SELECT id FROM kept
UNION ALL
SELECT id FROM connected
