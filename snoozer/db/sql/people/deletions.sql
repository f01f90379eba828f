-- name: erase_archived
-- Erase archived snoozes of a person with their sends and events, up to batch_size.
WITH doomed AS MATERIALIZED (
    SELECT id, finished_at
    FROM email_snoozes_archive
    WHERE user_email = :user_email
    ORDER BY id
    LIMIT :batch_size
),
sends AS (
    DELETE FROM reminder_sends_archive AS send
    USING doomed
    WHERE send.snooze_id = doomed.id
),
events AS (
    DELETE FROM snooze_events AS event
    USING doomed
    WHERE event.snooze_id = doomed.id
)
DELETE FROM email_snoozes_archive AS snooze
USING doomed
WHERE snooze.id = doomed.id
  AND snooze.finished_at = doomed.finished_at
RETURNING snooze.id

-- name: erase_kept
-- Erase a person's kept messages, mail kept by a trial's mail server, and pushes and webhook deliveries, up to
-- batch_size of each. Pushes and deliveries that are claimed may still be answered and are left for later.
WITH captured AS (
    DELETE FROM sink_messages
    WHERE id = ANY(ARRAY(
        SELECT id
        FROM sink_messages
        WHERE rcpt_to = :user_email
           OR rcpt_to IN (SELECT email FROM account_addresses WHERE account_addresses.account_id = :account_id)
        LIMIT :batch_size
    ))
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

-- name: finish
-- Delete an account whose deletion has begun, with all that belongs to it, once nothing of the person is left elsewhere.
DELETE FROM accounts AS account
WHERE account.id = :account_id
  AND EXISTS (
      SELECT 1
      FROM account_deletions
      WHERE account_deletions.account_id = account.id
        AND begun_at IS NOT NULL
  )
  AND NOT EXISTS (SELECT 1 FROM email_snoozes WHERE user_email = account.email)
  AND NOT EXISTS (SELECT 1 FROM email_snoozes_archive WHERE user_email = account.email)
  AND NOT EXISTS (SELECT 1 FROM messages WHERE is_kept AND user_email = account.email)
  AND NOT EXISTS (SELECT 1 FROM push_sends WHERE push_sends.account_id = account.id)
  AND NOT EXISTS (SELECT 1 FROM webhook_deliveries WHERE webhook_deliveries.account_id = account.id)
RETURNING account.id

-- name: has_mailboxes
-- Whether a person's mailboxes are still being disconnected.
SELECT EXISTS (SELECT 1 FROM mailboxes WHERE account_id = :account_id)

-- name: next
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

-- name: request
-- Request the deletion of an account after `delay`. Zero rows: it was requested before.
INSERT INTO account_deletions (account_id, due_at, deliver)
VALUES (:account_id, clock_timestamp() + :delay, :deliver)
ON CONFLICT DO NOTHING
RETURNING due_at

-- name: withdraw
-- Keep the account. Zero rows: no deletion was requested, or it has begun.
DELETE FROM account_deletions
WHERE account_id = :account_id
  AND begun_at IS NULL
RETURNING account_id
