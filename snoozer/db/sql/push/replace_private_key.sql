-- Replace an encrypted private key by the same one under a newer key of the ring, unless another process already has.
UPDATE push_keys
SET private_key = :private_key
WHERE id = :id
  AND private_key = :known
RETURNING id
