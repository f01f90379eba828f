-- Replace encrypted secrets by the same ones under a newer key of the ring, unless they changed since they were read.
UPDATE webhook_endpoints
SET secret = :secret,
    previous_secret = CASE WHEN previous_secret IS NOT NULL THEN CAST(:previous_secret AS bytea) END
WHERE id = :id
  AND secret = :known
  AND previous_secret IS NOT DISTINCT FROM CAST(:known_previous AS bytea)
  AND (previous_secret IS NULL OR CAST(:previous_secret AS bytea) IS NOT NULL)
RETURNING id
