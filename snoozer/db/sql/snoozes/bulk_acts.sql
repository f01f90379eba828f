-- name: begin
-- Enter an act on many messages, before it changes any: once for each form that is submitted.
-- A second submit of it waits for the first one's transaction; zero rows then.
INSERT INTO bulk_acts (account_id, id)
VALUES (:account_id, :id)
ON CONFLICT DO NOTHING
RETURNING id

-- name: finish
-- Keep the result of an act on many messages, and the messages' state before it.
UPDATE bulk_acts
SET result = CAST(:result AS jsonb),
    before = CAST(:before AS jsonb)
WHERE account_id = :account_id
  AND id = :id
RETURNING id

-- name: lock
-- An act on many messages of this account, locked until the transaction ends.
SELECT created_at, result, before, undone_at
FROM bulk_acts
WHERE account_id = :account_id
  AND id = :id
FOR NO KEY UPDATE

-- name: mark_undone
-- Note that an act on many messages was undone, as far as possible.
UPDATE bulk_acts
SET undone_at = CURRENT_TIMESTAMP
WHERE account_id = :account_id
  AND id = :id
RETURNING id
