-- Lock snoozes that an operator acts on; those that another transaction has locked are not waited for, and missing from
-- the result. What they are is read by the next statement (peek/operated.sql): it sees what was committed before.
WITH locked AS MATERIALIZED (
    SELECT id
    FROM email_snoozes
    WHERE id = ANY(:ids)
    ORDER BY id
    FOR NO KEY UPDATE SKIP LOCKED
)
SELECT id
FROM locked
