-- name: give_back
-- Give up one mailbox, or all that this process owns, which then ends.
WITH ended AS (
    DELETE FROM mailbox_watchers
    WHERE id = :owner
      AND CAST(:id AS bigint) IS NULL
)
UPDATE mailboxes
SET owner = NULL,
    owned_until = NULL
WHERE owner = :owner
  AND (CAST(:id AS bigint) IS NULL OR id = :id)
RETURNING id

-- name: list_owned
-- Mailboxes that this process owns, and whether their accounts are closed; a missing mailbox is no longer its own. A
-- mailbox whose lease has ended remains its own until another process takes it.
SELECT mailbox.id, mailbox.fence, account.disabled_at IS NOT NULL AS is_closed
FROM mailboxes AS mailbox
JOIN accounts AS account ON account.id = mailbox.account_id
WHERE mailbox.owner = :owner

-- name: list_watchers
-- The processes that have reported and have not ended in order.
SELECT id
FROM mailbox_watchers

-- name: record_problem
-- Record that the mailbox cannot be used, and since when. With `pause`, it is left alone until its owner enters another
-- password, or for an hour.
WITH before AS (
    SELECT id, state
    FROM mailboxes
    WHERE id = :id
      AND fence = :fence
    FOR NO KEY UPDATE
)
UPDATE mailboxes AS mailbox
SET problem = :problem,
    problem_since = CASE WHEN mailbox.problem IS NOT NULL THEN mailbox.problem_since ELSE clock_timestamp() END,
    state = CASE WHEN :pause AND before.state = 'active' THEN 'paused' ELSE before.state END,
    owner = CASE WHEN NOT :pause THEN mailbox.owner END,
    owned_until = CASE WHEN NOT :pause THEN mailbox.owned_until END,
    tried_at = clock_timestamp(),
    updated_at = CURRENT_TIMESTAMP
FROM before
WHERE mailbox.id = before.id
RETURNING mailbox.state, mailbox.problem_since, :pause AND before.state = 'active' AS newly_paused

-- name: record_syncs
-- Record that these mailboxes were read and every message is in its folder. Reads by a former owner are ignored.
UPDATE mailboxes AS mailbox
SET synced_at = clock_timestamp(),
    tried_at = clock_timestamp(),
    problem = NULL,
    problem_since = NULL,
    state = CASE WHEN mailbox.state = 'paused' THEN 'active' ELSE mailbox.state END,
    updated_at = CURRENT_TIMESTAMP
FROM unnest(CAST(:ids AS bigint[]), CAST(:fences AS bigint[])) AS read (id, fence)
WHERE mailbox.id = read.id
  AND mailbox.fence = read.fence

-- name: release_dead
-- Free the mailboxes of processes that are known to be dead, without waiting for their leases to end.
WITH ended AS (
    DELETE FROM mailbox_watchers
    WHERE id = ANY(:owners)
)
UPDATE mailboxes
SET owner = NULL,
    owned_until = NULL
WHERE owner = ANY(:owners)
RETURNING id

-- name: remove
-- Delete a mailbox that its owner disconnected, once no message of it lies in a Snoozer folder.
DELETE FROM mailboxes
WHERE id = :id
  AND fence = :fence
  AND state = 'leaving'
  AND NOT EXISTS (
      SELECT 1
      FROM messages
      WHERE mailbox_id = :id
        AND (place = 'snoozed' OR moving_to IS NOT NULL)
  )
RETURNING id

-- name: renew
-- Extend the leases of this process. Mailboxes over an even share are given back, for processes that have less.
WITH share AS (
    SELECT ceil(count(*)::numeric / (
        SELECT GREATEST(count(*), 1)
        FROM mailbox_watchers
        WHERE seen_at > clock_timestamp() - :silence
    )) AS fair
    FROM mailboxes
),
own AS MATERIALIZED (
    SELECT id, row_number() OVER (ORDER BY id) <= (SELECT fair FROM share) AS kept
    FROM mailboxes
    WHERE owner = :owner
)
UPDATE mailboxes AS mailbox
SET owner = CASE WHEN own.kept THEN mailbox.owner END,
    owned_until = CASE WHEN own.kept THEN clock_timestamp() + :lease END
FROM own
WHERE mailbox.id = own.id
  AND mailbox.owner = :owner

-- name: report
-- Record that this process is alive, and forget processes that have been silent for a day.
WITH silent AS (
    DELETE FROM mailbox_watchers
    WHERE seen_at < clock_timestamp() - INTERVAL '1 day'
      AND id <> :owner
)
INSERT INTO mailbox_watchers (id, seen_at)
VALUES (:owner, clock_timestamp())
ON CONFLICT (id) DO UPDATE
SET seen_at = clock_timestamp()

-- name: take
-- Take mailboxes that no process owns any more, up to an even share of all mailboxes: their lease has ended, or their
-- process has been silent for `silence`. Paused mailboxes are left alone for `retry`. Each change of owners raises the
-- fence, so that later writes of the former owner do not match it.
WITH alive AS MATERIALIZED (
    SELECT id
    FROM mailbox_watchers
    WHERE seen_at > clock_timestamp() - :silence
),
share AS (
    SELECT
        ceil(count(*)::numeric / (SELECT GREATEST(count(*), 1) FROM alive)) AS fair,
        count(*) FILTER (WHERE owner = :owner) AS own
    FROM mailboxes
),
free AS MATERIALIZED (
    SELECT mailbox.id, account.email, account.disabled_at IS NOT NULL AS is_closed
    FROM mailboxes AS mailbox
    JOIN accounts AS account ON account.id = mailbox.account_id
    WHERE (
        mailbox.owner IS NULL
        OR mailbox.owned_until <= clock_timestamp()
        OR mailbox.owner NOT IN (SELECT id FROM alive)
    )
      AND (mailbox.state <> 'paused' OR mailbox.tried_at <= clock_timestamp() - :retry)
    ORDER BY mailbox.id
    LIMIT (SELECT GREATEST(fair - own, 0) FROM share)
    FOR NO KEY UPDATE OF mailbox SKIP LOCKED
)
UPDATE mailboxes AS mailbox
SET owner = :owner,
    owned_until = clock_timestamp() + :lease,
    fence = fence + 1
FROM free
WHERE mailbox.id = free.id
RETURNING
    mailbox.id, mailbox.fence, mailbox.host, mailbox.port, mailbox.security, mailbox.username, mailbox.secret,
    mailbox.login_method, mailbox.state, mailbox.address, mailbox.brings_back, mailbox.reads_asleep, mailbox.snooze_flag,
    mailbox.snooze_flag_time, mailbox.account_id, free.email AS user_email, free.is_closed
