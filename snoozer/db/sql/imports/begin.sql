-- Begin an import of this person, who has none.
INSERT INTO imports (account_id, presets)
VALUES (:account_id, CAST(:presets AS jsonb))
RETURNING id
