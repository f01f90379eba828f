-- Authorise a claimed push, just before its request leaves. Zero rows if the claim is lost, or the device was removed
-- or taken over by another person.
UPDATE push_sends AS send
SET state = 'sending',
    marked_at = clock_timestamp(),
    claimed_until = clock_timestamp() + :lease
FROM push_devices AS device
WHERE send.id = :id
  AND send.claim_token = :claim_token
  AND send.state = 'reserved'
  AND send.claimed_until > clock_timestamp()
  AND device.id = send.device_id
  AND device.account_id = send.account_id
RETURNING send.id
