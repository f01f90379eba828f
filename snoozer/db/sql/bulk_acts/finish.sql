-- Keep what an act on many messages came to, and what they were before it.
UPDATE bulk_acts
SET result = CAST(:result AS jsonb),
    before = CAST(:before AS jsonb)
WHERE account_id = :account_id
  AND id = :id
RETURNING id
