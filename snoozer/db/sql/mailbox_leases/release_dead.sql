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
