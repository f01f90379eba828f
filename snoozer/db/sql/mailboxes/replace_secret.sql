-- Replace a mailbox's password by the same one under a newer key, or a refresh token by its successor from the
-- provider. Zero rows: it was changed since it was read, and stays.
UPDATE mailboxes
SET secret = :secret
WHERE id = :id
  AND secret = :known
RETURNING id
