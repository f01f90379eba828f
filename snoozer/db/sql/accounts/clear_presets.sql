-- Delete the person's own presets; the language's defaults are offered again.
DELETE FROM account_presets
WHERE account_id = :account_id
