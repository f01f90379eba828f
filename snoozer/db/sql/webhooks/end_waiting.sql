-- Fail the deliveries that wait for an endpoint that was switched off; they can be sent again by hand. Claimed
-- deliveries are left to their senders.
UPDATE webhook_deliveries
SET state = 'failed',
    reason = COALESCE(reason, 'off'),
    finished_at = clock_timestamp()
WHERE endpoint_id = :endpoint_id
  AND state = 'waiting'
  AND claim_token IS NULL
RETURNING id
