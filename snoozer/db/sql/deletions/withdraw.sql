-- Keep the account. Zero rows: nothing was asked for, or its deletion has begun.
DELETE FROM account_deletions
WHERE account_id = :account_id
  AND begun_at IS NULL
RETURNING account_id
