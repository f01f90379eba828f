-- Register a new incarnation of a worker, with its release, its host, how many rows it claims at once and how many it
-- delivers at once.
INSERT INTO workers (id, started_at, heartbeat_at, version, host, batch_size, concurrency)
VALUES (:id, clock_timestamp(), clock_timestamp(), :version, :host, :batch_size, :concurrency)
