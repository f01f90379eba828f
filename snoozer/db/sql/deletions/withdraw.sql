-- Keep the account. Zero rows: no deletion was requested, or it has begun.
DELETE FROM account_deletions
WHERE account_id = :account_id
  AND begun_at IS NULL
RETURNING account_id
