-- Give back claims whose owners' days let no reminder through: due again at the end of that rest, for its reason; no
-- attempt is used, and the promise does not move; fenced by the claim token.
-- Rows that another transaction has locked are skipped: they and claims no longer owned are missing from the result.
WITH locked AS MATERIALIZED (
    SELECT snooze.id, requested.until, requested.reason
    FROM unnest(
        CAST(:ids AS bigint[]),
        CAST(:claim_tokens AS uuid[]),
        CAST(:untils AS timestamptz[]),
        CAST(:reasons AS text[])
    ) AS requested (id, claim_token, until, reason)
    JOIN email_snoozes AS snooze ON snooze.id = requested.id
    WHERE snooze.claim_token = requested.claim_token
    FOR NO KEY UPDATE OF snooze SKIP LOCKED
)
UPDATE email_snoozes AS snooze
SET claimed_at = NULL,
    claimed_by = NULL,
    claim_token = NULL,
    lease_expires_at = NULL,
    remind_at = GREATEST(snooze.remind_at, locked.until),
    deferred_until = GREATEST(snooze.remind_at, locked.until),
    deferred_by = locked.reason,
    updated_at = CURRENT_TIMESTAMP
FROM locked
WHERE snooze.id = locked.id
RETURNING snooze.id
