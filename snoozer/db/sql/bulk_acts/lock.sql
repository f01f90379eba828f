-- An act on many messages of this account, locked until the transaction ends.
SELECT created_at, result, before, undone_at
FROM bulk_acts
WHERE account_id = :account_id
  AND id = :id
FOR NO KEY UPDATE
