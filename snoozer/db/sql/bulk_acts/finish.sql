-- Keep the result of an act on many messages, and the messages' state before it.
UPDATE bulk_acts
SET result = CAST(:result AS jsonb),
    before = CAST(:before AS jsonb)
WHERE account_id = :account_id
  AND id = :id
RETURNING id
