-- Save the person's own presets in their order.
INSERT INTO account_presets AS preset (account_id, position, label, phrase)
SELECT :account_id, own.position, own.label, own.phrase
FROM unnest(CAST(:labels AS text[]), CAST(:phrases AS text[])) WITH ORDINALITY AS own (label, phrase, position)
ON CONFLICT (account_id, position) DO UPDATE
SET label = EXCLUDED.label,
    phrase = EXCLUDED.phrase
