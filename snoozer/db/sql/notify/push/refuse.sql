-- The push service refused a push for good, or it cannot be made. With `gone` its device is removed, and gets no more
-- pushes; otherwise the device shows the reason.
WITH refused AS (
    UPDATE push_sends
    SET state = 'failed',
        status = :status,
        reason = :reason,
        attempts = attempts + 1,
        claim_token = NULL,
        claimed_until = NULL,
        finished_at = clock_timestamp()
    WHERE id = :id
      AND claim_token = :claim_token
      AND state IN ('reserved', 'sending')
    RETURNING device_id
),
removed AS (
    DELETE FROM push_devices AS device
    USING refused
    WHERE device.id = refused.device_id
      AND :gone
),
troubled AS (
    UPDATE push_devices AS device
    SET problem = :reason
    FROM refused
    WHERE device.id = refused.device_id
      AND NOT :gone
),
others AS (
    UPDATE push_sends AS other
    SET state = 'failed',
        reason = :reason,
        claim_token = NULL,
        claimed_until = NULL,
        finished_at = clock_timestamp()
    FROM refused
    WHERE other.device_id = refused.device_id
      AND other.id <> :id
      AND other.state = 'reserved'
      AND :gone
)
SELECT device_id
FROM refused
