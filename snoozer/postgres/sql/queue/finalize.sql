-- The reminder is out, the snooze is over. Only the holder of the claim may say so;
-- no row means the claim is no longer ours.
UPDATE email_snoozes
SET claimed_at = NULL,
    claimed_by = NULL,
    claim_token = NULL,
    lease_expires_at = NULL,
    inactive = TRUE,
    outcome = 'sent',
    finished_at = CURRENT_TIMESTAMP,
    updated_at = CURRENT_TIMESTAMP
WHERE id = :id
  AND claim_token = :claim_token
RETURNING id
