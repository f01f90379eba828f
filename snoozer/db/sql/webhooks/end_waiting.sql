-- An endpoint was switched off: what waits for it has failed, and can be sent again by hand. What is on its way comes to its
-- own end.
UPDATE webhook_deliveries
SET state = 'failed',
    reason = COALESCE(reason, 'off'),
    finished_at = clock_timestamp()
WHERE endpoint_id = :endpoint_id
  AND state = 'waiting'
  AND claim_token IS NULL
RETURNING id
