-- Ask for an account to be deleted after `delay`. Zero rows: that was asked for before.
INSERT INTO account_deletions (account_id, due_at, deliver)
VALUES (:account_id, clock_timestamp() + :delay, :deliver)
ON CONFLICT DO NOTHING
RETURNING due_at
