-- Delete notes of transactions that the oldest checkpoint sees. Without one, none is known to be old.
DELETE FROM list_changes
WHERE ctid = ANY(ARRAY(
    SELECT change.ctid
    FROM list_changes AS change
    WHERE pg_visible_in_snapshot(
        CAST(CAST(change.transaction_id AS text) AS xid8),
        (SELECT CAST(snapshot AS pg_snapshot) FROM list_checkpoints ORDER BY taken_at LIMIT 1)
    )
    LIMIT :batch_size
))
RETURNING 1
