-- Register a new incarnation of a worker.
INSERT INTO workers (id, started_at, heartbeat_at)
VALUES (:id, clock_timestamp(), clock_timestamp())
