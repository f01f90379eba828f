-- Erase a person's kept messages, mail kept by a trial's mail server, and pushes and webhook deliveries, up to
-- batch_size of each. Pushes and deliveries that are claimed may still be answered and are left for later.
WITH captured AS (
    DELETE FROM sink_messages
    WHERE id = ANY(ARRAY(SELECT id FROM sink_messages WHERE rcpt_to = :user_email LIMIT :batch_size))
    RETURNING 1
),
kept AS (
    DELETE FROM messages
    WHERE id = ANY(ARRAY(SELECT id FROM messages WHERE is_kept AND user_email = :user_email LIMIT :batch_size))
    RETURNING 1
),
pushed AS (
    DELETE FROM push_sends
    WHERE id = ANY(ARRAY(
        SELECT id
        FROM push_sends
        WHERE account_id = :account_id
          AND COALESCE(claimed_until <= CURRENT_TIMESTAMP, TRUE)
        LIMIT :batch_size
    ))
    RETURNING 1
),
posted AS (
    DELETE FROM webhook_deliveries
    WHERE id = ANY(ARRAY(
        SELECT id
        FROM webhook_deliveries
        WHERE account_id = :account_id
          AND COALESCE(claimed_until <= CURRENT_TIMESTAMP, TRUE)
        LIMIT :batch_size
    ))
    RETURNING 1
)
SELECT
    (SELECT count(*) FROM captured)
    + (SELECT count(*) FROM kept)
    + (SELECT count(*) FROM pushed)
    + (SELECT count(*) FROM posted) AS erased
