-- Record that the push service accepted a push: a fact, whatever the state of the claim. Repeating changes nothing.
WITH sent AS (
    UPDATE push_sends
    SET state = 'sent',
        status = :status,
        reason = NULL,
        claim_token = NULL,
        claimed_until = NULL,
        finished_at = clock_timestamp()
    WHERE id = :id
      AND state IN ('sending', 'uncertain')
    RETURNING device_id
)
UPDATE push_devices AS device
SET sent_at = clock_timestamp(),
    problem = NULL,
    failures = 0,
    quiet_until = NULL
FROM sent
WHERE device.id = sent.device_id
RETURNING device.id
