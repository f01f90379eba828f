-- Begin the deletions that are due, up to batch_size: close the accounts for good, end sessions, links, tokens, feeds,
-- notifications, webhooks and the shape of the day, and have connected mailboxes return snoozed messages.
WITH due AS MATERIALIZED (
    SELECT account_id
    FROM account_deletions
    WHERE begun_at IS NULL
      AND due_at <= clock_timestamp()
    ORDER BY due_at
    LIMIT :batch_size
    FOR UPDATE SKIP LOCKED
),
begun AS (
    UPDATE account_deletions AS deletion
    SET begun_at = clock_timestamp()
    FROM due
    WHERE deletion.account_id = due.account_id
),
ended_sessions AS (
    DELETE FROM sessions USING due WHERE sessions.account_id = due.account_id
),
ended_links AS (
    DELETE FROM sign_ins USING due WHERE sign_ins.account_id = due.account_id
),
ended_tokens AS (
    DELETE FROM api_tokens USING due WHERE api_tokens.account_id = due.account_id
),
ended_feeds AS (
    DELETE FROM feeds USING due WHERE feeds.account_id = due.account_id
),
ended_devices AS (
    DELETE FROM push_devices USING due WHERE push_devices.account_id = due.account_id
),
ended_webhooks AS (
    DELETE FROM webhook_endpoints USING due WHERE webhook_endpoints.account_id = due.account_id
),
ended_rests AS (
    DELETE FROM day_shapes USING due WHERE day_shapes.account_id = due.account_id
),
left_mailboxes AS (
    UPDATE mailboxes
    SET state = 'leaving',
        owner = NULL,
        owned_until = NULL,
        fence = fence + 1,
        updated_at = CURRENT_TIMESTAMP
    FROM due
    WHERE mailboxes.account_id = due.account_id
)
UPDATE accounts AS account
SET disabled_at = COALESCE(account.disabled_at, clock_timestamp())
FROM due
WHERE account.id = due.account_id
RETURNING account.id
