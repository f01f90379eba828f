-- Check up to batch_size entries behind after_id: how many were read, the last one, and the first one that does not fit
-- its content or the entry before it. A gap in the ids, also at the beginning, means that an entry is missing.
WITH link AS (
    SELECT
        entry.id,
        entry.id = COALESCE(before.id, 0) + 1
        AND entry.hash = audit_log_hash(before.hash, entry) AS fits
    FROM audit_log AS entry
    LEFT JOIN audit_log AS before ON before.id = entry.id - 1
    WHERE entry.id > :after_id
    ORDER BY entry.id
    LIMIT :batch_size
)
SELECT
    count(*) AS checked,
    max(id) AS last_id,
    min(id) FILTER (WHERE NOT fits) AS broken_at
FROM link
