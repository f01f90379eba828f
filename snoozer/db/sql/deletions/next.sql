-- The deletion that has begun and was not worked on for the longest time. A deletion that waits for a delivery takes
-- its turn like any other, and none is worked on twice within a call.
WITH next AS MATERIALIZED (
    SELECT account_id
    FROM account_deletions
    WHERE begun_at IS NOT NULL
      AND (looked_at IS NULL OR looked_at < :before)
    ORDER BY looked_at NULLS FIRST, account_id
    LIMIT 1
    FOR UPDATE SKIP LOCKED
)
UPDATE account_deletions AS deletion
SET looked_at = clock_timestamp()
FROM next, accounts AS account
WHERE deletion.account_id = next.account_id
  AND account.id = next.account_id
RETURNING
    account.id,
    account.email,
    deletion.deliver AND deletion.begun_at > clock_timestamp() - :deliver_within AS delivers,
    deletion.begun_at < clock_timestamp() - :settle AS is_settled,
    deletion.begun_at > clock_timestamp() - :mailbox_within AS waits_for_mailboxes
