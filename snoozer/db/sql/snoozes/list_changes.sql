-- name: advance
-- Take a checkpoint, and delete all others except the latest.
WITH forgotten AS (
    DELETE FROM list_checkpoints
    WHERE taken_at < (SELECT max(taken_at) FROM list_checkpoints)
)
INSERT INTO list_checkpoints (snapshot)
SELECT CAST(pg_current_snapshot() AS text)

-- name: begin
-- Take the first checkpoint, as after a crash of the server: changes are known from now on.
INSERT INTO list_checkpoints (snapshot)
SELECT CAST(pg_current_snapshot() AS text)

-- name: find
-- For each list that is open in a browser, given by its session and the snapshot of the database that it shows: whether
-- the person is still signed in, the transactions that changed the person's lists and that the snapshot does not see
-- (at most :most + 1), and the snapshot up to which this is the answer. `is_known` is false if notes may have been
-- deleted that the list has not seen, or if its snapshot is of another database.
WITH present AS MATERIALIZED (
    SELECT
        CAST(pg_current_snapshot() AS text) AS snapshot,
        CAST(CAST(pg_snapshot_xmax(pg_current_snapshot()) AS text) AS bigint) AS ends
),
oldest AS MATERIALIZED (
    SELECT min(CAST(split_part(checkpoint.snapshot, ':', 2) AS bigint)) AS ends
    FROM list_checkpoints AS checkpoint
    CROSS JOIN present
    WHERE CAST(split_part(checkpoint.snapshot, ':', 2) AS bigint) <= present.ends
)
SELECT
    present.snapshot,
    oldest.ends IS NOT NULL AS has_checkpoint,
    account.id IS NOT NULL AS is_signed_in,
    COALESCE(open_list.ends > oldest.ends AND open_list.ends <= present.ends, FALSE) AS is_known,
    ARRAY(
        SELECT change.transaction_id
        FROM list_changes AS change
        WHERE change.transaction_id >= open_list.begins
          AND NOT pg_visible_in_snapshot(CAST(CAST(change.transaction_id AS text) AS xid8), open_list.seen)
          AND hashtext(account.email) = ANY(change.people)
        LIMIT CAST(:most AS integer) + 1
    ) AS transaction_ids
FROM (
    SELECT
        given.token_hash,
        given.number,
        CAST(given.snapshot AS pg_snapshot) AS seen,
        CAST(split_part(given.snapshot, ':', 1) AS bigint) AS begins,
        CAST(split_part(given.snapshot, ':', 2) AS bigint) AS ends
    FROM unnest(CAST(:token_hashes AS text[]), CAST(:snapshots AS text[]))
        WITH ORDINALITY AS given (token_hash, snapshot, number)
) AS open_list
CROSS JOIN present
CROSS JOIN oldest
LEFT JOIN sessions AS session
  ON session.token_hash = open_list.token_hash
 AND session.expires_at > clock_timestamp()
 AND session.seen_at > clock_timestamp() - INTERVAL '14 days'
LEFT JOIN accounts AS account
  ON account.id = session.account_id
 AND account.disabled_at IS NULL
ORDER BY open_list.number

-- name: present
-- The time, and the snapshot of the database that the next statements see at least.
SELECT
    clock_timestamp() AS now,
    CAST(pg_current_snapshot() AS text) AS snapshot

-- name: prune
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
