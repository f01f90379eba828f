-- The workers among whom the buckets are shared out.
SELECT id
FROM workers
WHERE state = 'alive'
ORDER BY id
