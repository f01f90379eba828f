-- The dot left and no answer came. It may have been sent, and the ledger says so.
UPDATE reminder_sends
SET state = 'uncertain',
    uncertain_at = clock_timestamp(),
    reply = :reply
WHERE id = :send_id
  AND claim_token = :claim_token
  AND state = 'sending'
RETURNING resends
