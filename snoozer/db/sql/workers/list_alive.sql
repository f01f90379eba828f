-- The workers among which the buckets are divided.
SELECT id
FROM workers
WHERE state = 'alive'
ORDER BY id
