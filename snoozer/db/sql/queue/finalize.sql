-- Finish snoozes whose reminders were sent. Fenced by the claim token: claims no longer owned are missing from the
-- result.
-- Rows are locked in the order of ids, as in all statements. The lock_timeout of one second, which bounds how long the
-- batch waits, holds for the rest of the transaction.
WITH lock_timeout AS MATERIALIZED (
    SELECT set_config('lock_timeout', '1s', TRUE)
),
locked AS MATERIALIZED (
    SELECT snooze.id, snooze.claim_token
    FROM lock_timeout
    CROSS JOIN unnest(CAST(:ids AS bigint[]), CAST(:claim_tokens AS uuid[])) AS requested (id, claim_token)
    JOIN email_snoozes AS snooze ON snooze.id = requested.id
    WHERE snooze.claim_token = requested.claim_token
    ORDER BY snooze.id
    FOR NO KEY UPDATE OF snooze
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
RETURNING locked.id, locked.claim_token
