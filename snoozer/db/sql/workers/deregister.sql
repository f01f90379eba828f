-- A worker stopped: it is dead at once, without waiting for its heartbeat to expire.
UPDATE workers
SET state = 'dead',
    stopped_at = clock_timestamp()
WHERE id = :id
  AND state <> 'dead'
RETURNING id
