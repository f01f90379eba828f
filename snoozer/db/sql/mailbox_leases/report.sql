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
