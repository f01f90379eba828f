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
