-- A worker was asked to stop: it finishes its claims and takes no new ones.
UPDATE workers
SET state = 'draining'
WHERE id = :id
  AND state = 'alive'
RETURNING id
