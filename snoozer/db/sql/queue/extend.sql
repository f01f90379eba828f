-- Lengthen the leases of the claims a worker still works on. A claim that was taken away is missing from the answer.
-- A row that somebody has locked is not waited for: it keeps the lease it has until the next time.
WITH held AS MATERIALIZED (
    SELECT asked.id, asked.claim_token
    FROM unnest(CAST(:ids AS bigint[]), CAST(:claim_tokens AS uuid[])) AS asked (id, claim_token)
    JOIN email_snoozes AS snooze ON snooze.id = asked.id
    WHERE snooze.claim_token = asked.claim_token
),
ours AS MATERIALIZED (
    SELECT snooze.id
    FROM held
    JOIN email_snoozes AS snooze ON snooze.id = held.id
    WHERE snooze.claim_token = held.claim_token
    FOR NO KEY UPDATE OF snooze SKIP LOCKED
),
longer AS (
    UPDATE email_snoozes AS snooze
    SET lease_expires_at = clock_timestamp() + :lease
    FROM ours
    WHERE snooze.id = ours.id
    RETURNING snooze.id
)
SELECT held.id, longer.id IS NOT NULL AS extended
FROM held
LEFT JOIN longer ON longer.id = held.id
