-- The request of a push was sent and no answer came: it may have been accepted, and is not sent again. Its device is
-- left alone for `delay`.
WITH silent AS (
    UPDATE push_sends
    SET state = 'uncertain',
        reason = :reason,
        claim_token = NULL,
        claimed_until = NULL,
        finished_at = clock_timestamp()
    WHERE id = :id
      AND claim_token = :claim_token
      AND state = 'sending'
    RETURNING device_id
),
quiet AS (
    UPDATE push_devices AS device
    SET failures = device.failures + 1,
        quiet_until = clock_timestamp() + :delay
    FROM silent
    WHERE device.id = silent.device_id
),
others AS (
    UPDATE push_sends AS other
    SET try_at = GREATEST(other.try_at, clock_timestamp() + :delay)
    FROM silent
    WHERE other.device_id = silent.device_id
      AND other.id <> :id
      AND other.state = 'reserved'
)
SELECT device_id
FROM silent
