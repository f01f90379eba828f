-- name: append
-- Append an entry of the audit log for each target, in their order; a trigger chains them.
-- The chain is locked until the transaction ends.
INSERT INTO audit_log (actor, act, reason, request_id, operation_id, snooze_id, target, before, after)
SELECT
    :actor,
    :act,
    :reason,
    :request_id,
    :operation_id,
    entry.snooze_id,
    entry.target,
    CAST(entry.before AS jsonb),
    CAST(entry.after AS jsonb)
FROM unnest(
    CAST(:snooze_ids AS bigint[]),
    CAST(:targets AS text[]),
    CAST(:befores AS text[]),
    CAST(:afters AS text[])
) WITH ORDINALITY AS entry (snooze_id, target, before, after, position)
ORDER BY entry.position

-- name: check_links
-- Check up to batch_size entries behind after_id: how many were read, the last entry, and the first entry whose hash does
-- not fit its content or the entry before it. A gap in the ids, also at the beginning, means that an entry is missing.
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

-- name: hash_of
-- The hash of one entry of the audit log.
SELECT hash
FROM audit_log
WHERE id = :id

-- name: head
-- The newest entry of the audit log and its hash, which covers all entries before it.
SELECT id, hash
FROM audit_log
ORDER BY id DESC
LIMIT 1
