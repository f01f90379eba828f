-- Workers without a heartbeat for too long are dead. After an outage of the database itself,
-- everybody gets the same time again to be heard.
UPDATE workers
SET state = 'dead',
    stopped_at = clock_timestamp()
WHERE state <> 'dead'
  AND GREATEST(heartbeat_at, snooze_server_met()) < clock_timestamp() - :dead_after
RETURNING id
