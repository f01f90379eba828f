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
