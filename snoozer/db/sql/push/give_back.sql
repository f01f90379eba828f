-- A claimed push was not begun: it is due as before.
UPDATE push_sends
SET claim_token = NULL,
    claimed_until = NULL
WHERE id = :id
  AND claim_token = :claim_token
  AND state = 'reserved'
RETURNING id
