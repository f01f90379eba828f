-- The final dot was sent and no reply came: the send becomes uncertain.
UPDATE reminder_sends
SET state = 'uncertain',
    uncertain_at = clock_timestamp(),
    reply = :reply
WHERE id = :send_id
  AND claim_token = :claim_token
  AND state = 'sending'
RETURNING resends
