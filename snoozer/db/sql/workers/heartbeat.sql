-- Still here, and who else is. A worker that was declared dead stays dead: no row comes back, and it must stop.
WITH updated AS (
    UPDATE workers
    SET heartbeat_at = clock_timestamp()
    WHERE id = :id
      AND state <> 'dead'
    RETURNING state
)
SELECT ARRAY (SELECT id FROM workers WHERE state = 'alive' ORDER BY id) AS alive
FROM updated
