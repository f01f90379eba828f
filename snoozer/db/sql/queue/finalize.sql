-- These reminders are out, their snoozes are over. Only the holder of a claim may say so;
-- a claim that is missing from the answer was no longer ours. Locks are taken in the order that all statements take
-- them, and nobody's is waited for longer than a second, because many wait with it.
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
