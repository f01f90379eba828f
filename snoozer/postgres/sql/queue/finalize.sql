-- These reminders are out, their snoozes are over. Only the holder of a claim may say so;
-- an id that is missing from the answer was no longer ours.
UPDATE email_snoozes AS snooze
SET claimed_at = NULL,
    claimed_by = NULL,
    claim_token = NULL,
    lease_expires_at = NULL,
    inactive = TRUE,
    outcome = 'sent',
    finished_at = CURRENT_TIMESTAMP,
    updated_at = CURRENT_TIMESTAMP
FROM unnest(CAST(:ids AS bigint[]), CAST(:claim_tokens AS uuid[])) AS held (id, claim_token)
WHERE snooze.id = held.id
  AND snooze.claim_token = held.claim_token
RETURNING snooze.id
