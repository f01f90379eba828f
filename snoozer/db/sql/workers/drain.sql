-- It was asked to stop: it finishes what it holds and takes nothing new.
UPDATE workers
SET state = 'draining'
WHERE id = :id
  AND state = 'alive'
RETURNING id
