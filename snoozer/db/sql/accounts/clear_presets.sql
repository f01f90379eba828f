-- The person's own presets are gone, and the language's usual ones are offered again.
DELETE FROM account_presets
WHERE account_id = :account_id
