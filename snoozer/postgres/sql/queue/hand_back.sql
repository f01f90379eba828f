-- A worker gives back what it never began. Nothing is spent and the promise does not move.
UPDATE email_snoozes AS snooze
SET claimed_at = NULL,
    claimed_by = NULL,
    claim_token = NULL,
    lease_expires_at = NULL,
    updated_at = CURRENT_TIMESTAMP
FROM unnest(CAST(:ids AS bigint[]), CAST(:claim_tokens AS uuid[])) AS held (id, claim_token)
WHERE snooze.id = held.id
  AND snooze.claim_token = held.claim_token
RETURNING snooze.id
