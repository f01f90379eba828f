-- Lock snoozes that an operator acts on; rows locked by another transaction are skipped, and missing from the result.
-- Their values are read by the next statement (peek/operated.sql), which sees all earlier commits.
WITH locked AS MATERIALIZED (
    SELECT id
    FROM email_snoozes
    WHERE id = ANY(:ids)
    ORDER BY id
    FOR NO KEY UPDATE SKIP LOCKED
)
SELECT id
FROM locked
