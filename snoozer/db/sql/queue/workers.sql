-- name: deregister
-- A worker stopped: it is dead at once, without waiting for its heartbeat to expire.
UPDATE workers
SET state = 'dead',
    stopped_at = clock_timestamp()
WHERE id = :id
  AND state <> 'dead'
RETURNING id

-- name: drain
-- A worker was asked to stop: it finishes its claims and takes no new ones.
UPDATE workers
SET state = 'draining'
WHERE id = :id
  AND state = 'alive'
RETURNING id

-- name: heartbeat
-- Record a heartbeat and return the alive workers. A worker that was declared dead stays dead: no row is returned, and
-- it must stop.
WITH updated AS (
    UPDATE workers
    SET heartbeat_at = clock_timestamp()
    WHERE id = :id
      AND state <> 'dead'
    RETURNING state
)
SELECT ARRAY (SELECT id FROM workers WHERE state = 'alive' ORDER BY id) AS alive
FROM updated

-- name: list_alive
-- The workers among which the buckets are divided.
SELECT id
FROM workers
WHERE state = 'alive'
ORDER BY id

-- name: mark_dead
-- Declare workers dead if their last heartbeat is too old. After a database outage the time counts from when the server
-- was first seen again.
UPDATE workers
SET state = 'dead',
    stopped_at = clock_timestamp()
WHERE state <> 'dead'
  AND GREATEST(heartbeat_at, snooze_server_met()) < clock_timestamp() - :dead_after
RETURNING id

-- name: prune
-- Delete workers that have been dead for a week and hold no claims.
DELETE FROM workers
WHERE state = 'dead'
  AND stopped_at < clock_timestamp() - INTERVAL '7 days'
  AND NOT EXISTS (SELECT 1 FROM email_snoozes WHERE claimed_by = workers.id AND claimed_at IS NOT NULL)
RETURNING id

-- name: register
-- Register a new incarnation of a worker, with its release, its host, how many rows it claims at once and how many it
-- delivers at once.
INSERT INTO workers (id, started_at, heartbeat_at, version, host, batch_size, concurrency)
VALUES (:id, clock_timestamp(), clock_timestamp(), :version, :host, :batch_size, :concurrency)
