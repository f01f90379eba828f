-- Lengthen the leases of the claims a worker still works on. A claim that was taken away is not lengthened:
-- its id is missing from the answer. Locks are taken in the order that all statements take them.
WITH ours AS MATERIALIZED (
    SELECT snooze.id
    FROM unnest(CAST(:ids AS bigint[]), CAST(:claim_tokens AS uuid[])) AS held (id, claim_token)
    JOIN email_snoozes AS snooze ON snooze.id = held.id
    WHERE snooze.claim_token = held.claim_token
    ORDER BY snooze.id
    FOR NO KEY UPDATE OF snooze
)
UPDATE email_snoozes AS snooze
SET lease_expires_at = clock_timestamp() + :lease
FROM ours
WHERE snooze.id = ours.id
RETURNING snooze.id
