-- A worker that stops gives back what it never began. Nothing is spent and the promise does not move.
UPDATE email_snoozes
SET claimed_at = NULL,
    claimed_by = NULL,
    claim_token = NULL,
    lease_expires_at = NULL,
    updated_at = CURRENT_TIMESTAMP
WHERE id = ANY(:ids)
  AND claimed_by = :worker
RETURNING id
