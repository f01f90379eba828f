-- Give back claims that wait for something else: due again after `delay`, no attempt is used, and the promise does not
-- move; fenced by the claim token.
-- Rows that another transaction has locked are skipped: they and claims no longer owned are missing from the result.
WITH locked AS MATERIALIZED (
    SELECT snooze.id, requested.delay
    FROM unnest(
        CAST(:ids AS bigint[]),
        CAST(:claim_tokens AS uuid[]),
        CAST(:delays AS interval[])
    ) AS requested (id, claim_token, delay)
    JOIN email_snoozes AS snooze ON snooze.id = requested.id
    WHERE snooze.claim_token = requested.claim_token
    FOR NO KEY UPDATE OF snooze SKIP LOCKED
)
UPDATE email_snoozes AS snooze
SET claimed_at = NULL,
    claimed_by = NULL,
    claim_token = NULL,
    lease_expires_at = NULL,
    remind_at = GREATEST(snooze.remind_at, CURRENT_TIMESTAMP + locked.delay),
    updated_at = CURRENT_TIMESTAMP
FROM locked
WHERE snooze.id = locked.id
RETURNING snooze.id
