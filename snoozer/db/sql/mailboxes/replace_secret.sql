-- Replace a mailbox's password by the same one under a newer key, or a refresh token by the one that its provider gave
-- for it. Zero rows: it was changed meanwhile, and stays.
UPDATE mailboxes
SET secret = :secret
WHERE id = :id
  AND secret = :known
RETURNING id
