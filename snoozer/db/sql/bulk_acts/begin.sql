-- Enter an act on many messages, before it changes any: once for each form that is submitted.
-- A second submit of it waits for the first one's transaction; zero rows then.
INSERT INTO bulk_acts (account_id, id)
VALUES (:account_id, :id)
ON CONFLICT DO NOTHING
RETURNING id
