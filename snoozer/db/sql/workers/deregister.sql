-- It is done and says so, so that nobody has to wait for its heartbeat to grow old.
UPDATE workers
SET state = 'dead',
    stopped_at = clock_timestamp()
WHERE id = :id
  AND state <> 'dead'
RETURNING id
