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
