-- Kept messages whose snippet is not known yet, with their first bytes: it is in those, if anywhere.
-- A message that another transaction has locked is skipped.
WITH unread AS MATERIALIZED (
    SELECT id
    FROM kept_messages
    WHERE snippet IS NULL
    ORDER BY id
    LIMIT :batch_size
    FOR NO KEY UPDATE SKIP LOCKED
)
SELECT kept.id, substring(kept.original FROM 1 FOR :size) AS original
FROM kept_messages AS kept
JOIN unread ON unread.id = kept.id
