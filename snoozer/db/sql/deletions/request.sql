-- Request the deletion of an account after `delay`. Zero rows: it was requested before.
INSERT INTO account_deletions (account_id, due_at, deliver)
VALUES (:account_id, clock_timestamp() + :delay, :deliver)
ON CONFLICT DO NOTHING
RETURNING due_at
