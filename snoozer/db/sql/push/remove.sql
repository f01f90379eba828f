-- Remove a person's device; waiting pushes to it are not sent. Zero rows if this person has no such device.
WITH removed AS (
    DELETE FROM push_devices
    WHERE id = :id
      AND account_id = :account_id
    RETURNING id
),
ended AS (
    UPDATE push_sends
    SET state = 'failed',
        reason = 'removed',
        claim_token = NULL,
        claimed_until = NULL,
        finished_at = clock_timestamp()
    FROM removed
    WHERE push_sends.device_id = removed.id
      AND push_sends.state = 'reserved'
)
SELECT id
FROM removed
