-- End up to batch_size roles that groups gave longer than a lifetime ago. Returns their accounts and the roles.
WITH past AS MATERIALIZED (
    SELECT id, group_role AS role_before
    FROM accounts
    WHERE group_role IS NOT NULL
      AND group_role_at < clock_timestamp() - CAST(:lifetime AS interval)
    ORDER BY id
    LIMIT :batch_size
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE accounts
SET group_role = NULL,
    group_role_at = NULL
FROM past
WHERE accounts.id = past.id
RETURNING accounts.id, past.role_before
