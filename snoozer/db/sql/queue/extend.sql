-- Extend the leases of claims that a worker still works on; a claim that is no longer owned is missing from the
-- result.
-- A row that another transaction has locked is skipped: it keeps its present lease and is returned with extended =
-- false.
WITH owned AS MATERIALIZED (
    SELECT requested.id, requested.claim_token
    FROM unnest(CAST(:ids AS bigint[]), CAST(:claim_tokens AS uuid[])) AS requested (id, claim_token)
    JOIN email_snoozes AS snooze ON snooze.id = requested.id
    WHERE snooze.claim_token = requested.claim_token
),
locked AS MATERIALIZED (
    SELECT snooze.id
    FROM owned
    JOIN email_snoozes AS snooze ON snooze.id = owned.id
    WHERE snooze.claim_token = owned.claim_token
    FOR NO KEY UPDATE OF snooze SKIP LOCKED
),
updated AS (
    UPDATE email_snoozes AS snooze
    SET lease_expires_at = clock_timestamp() + :lease
    FROM locked
    WHERE snooze.id = locked.id
    RETURNING snooze.id
)
SELECT owned.id, updated.id IS NOT NULL AS extended
FROM owned
LEFT JOIN updated ON updated.id = owned.id
