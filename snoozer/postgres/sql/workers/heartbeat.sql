-- Still here. A worker that was declared dead stays dead: no row comes back, and it must stop.
UPDATE workers
SET heartbeat_at = clock_timestamp()
WHERE id = :id
  AND state <> 'dead'
RETURNING state
