-- A claimed delivery was not begun: it is due as before.
UPDATE webhook_deliveries
SET claim_token = NULL,
    claimed_until = NULL
WHERE id = :id
  AND claim_token = :claim_token
RETURNING id
