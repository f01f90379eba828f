-- Finish snoozes whose reminders were sent; fenced by the claim token.
-- Rows that another transaction has locked are skipped: they and claims no longer owned are missing from the result.
WITH requested AS MATERIALIZED (
    SELECT * FROM unnest(CAST(:ids AS bigint[]), CAST(:claim_tokens AS uuid[])) AS pair (id, claim_token)
),
locked AS MATERIALIZED (
    SELECT snooze.id
    FROM requested
    JOIN email_snoozes AS snooze ON snooze.id = requested.id
    WHERE snooze.claim_token = requested.claim_token
    FOR NO KEY UPDATE OF snooze SKIP LOCKED
)
UPDATE email_snoozes AS snooze
SET claimed_at = NULL,
    claimed_by = NULL,
    claim_token = NULL,
    lease_expires_at = NULL,
    inactive = TRUE,
    outcome = 'sent',
    finished_at = CURRENT_TIMESTAMP,
    updated_at = CURRENT_TIMESTAMP
FROM locked
WHERE snooze.id = locked.id
RETURNING snooze.id
