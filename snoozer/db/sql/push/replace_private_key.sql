-- Replace an encrypted private key by the same one under a newer key of the ring; nothing where another process has.
UPDATE push_keys
SET private_key = :private_key
WHERE id = :id
  AND private_key = :known
RETURNING id
