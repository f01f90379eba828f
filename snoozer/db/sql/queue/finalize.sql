-- These reminders are out, their snoozes are over. Only the holder of a claim may say so;
-- a claim that is missing from the answer was no longer ours. Locks are taken in the order that all statements take
-- them, and nobody's is waited for longer than a second, because many wait with it.
WITH brief AS MATERIALIZED (
    SELECT set_config('lock_timeout', '1s', TRUE)
),
ours AS MATERIALIZED (
    SELECT snooze.id, snooze.claim_token
    FROM brief
    CROSS JOIN unnest(CAST(:ids AS bigint[]), CAST(:claim_tokens AS uuid[])) AS held (id, claim_token)
    JOIN email_snoozes AS snooze ON snooze.id = held.id
    WHERE snooze.claim_token = held.claim_token
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
FROM ours
WHERE snooze.id = ours.id
RETURNING ours.id, ours.claim_token
