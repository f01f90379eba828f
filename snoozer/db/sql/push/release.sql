-- A push did not reach the push service, or was not accepted for now: it and all other pushes for its device are tried
-- again after `delay`, unless they expire before.
WITH released AS (
    UPDATE push_sends
    SET state = CASE WHEN clock_timestamp() + :delay < expires_at THEN 'reserved' ELSE 'failed' END,
        reason = :reason,
        status = :status,
        attempts = attempts + 1,
        try_at = clock_timestamp() + :delay,
        claim_token = NULL,
        claimed_until = NULL,
        finished_at = CASE WHEN clock_timestamp() + :delay < expires_at THEN NULL ELSE clock_timestamp() END
    WHERE id = :id
      AND claim_token = :claim_token
      AND state IN ('reserved', 'sending')
    RETURNING device_id
),
quiet AS (
    UPDATE push_devices AS device
    SET failures = device.failures + 1,
        quiet_until = clock_timestamp() + :delay
    FROM released
    WHERE device.id = released.device_id
),
others AS (
    UPDATE push_sends AS other
    SET try_at = GREATEST(other.try_at, clock_timestamp() + :delay)
    FROM released
    WHERE other.device_id = released.device_id
      AND other.id <> :id
      AND other.state = 'reserved'
)
SELECT device_id
FROM released
