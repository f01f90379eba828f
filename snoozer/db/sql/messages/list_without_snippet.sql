-- Kept messages whose snippet is not known yet, with their first bytes, which contain the text if there is any. A
-- message that another transaction has locked is skipped.
WITH unread AS MATERIALIZED (
    SELECT id
    FROM messages
    WHERE is_kept
      AND snippet IS NULL
    ORDER BY id
    LIMIT :batch_size
    FOR NO KEY UPDATE SKIP LOCKED
)
SELECT id, substring(original FROM 1 FOR :size) AS original
FROM message_originals
JOIN unread USING (id)
