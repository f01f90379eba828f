-- Record that these mailboxes were read, and every message is where it should be. Reads by a former owner are ignored.
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
