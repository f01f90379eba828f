-- The import of a person whose account is open. Import and account are locked, and not deleted, until the transaction
-- ends.
SELECT imports.id, imports.presets
FROM imports
JOIN accounts ON accounts.id = imports.account_id
WHERE imports.account_id = :account_id
  AND accounts.disabled_at IS NULL
FOR UPDATE OF imports
FOR SHARE OF accounts
