-- Declare workers dead if their last heartbeat is too old. After a database outage the time counts from when the server
-- was first seen again.
UPDATE workers
SET state = 'dead',
    stopped_at = clock_timestamp()
WHERE state <> 'dead'
  AND GREATEST(heartbeat_at, snooze_server_met()) < clock_timestamp() - :dead_after
RETURNING id
