-- End pushes that no sender will end: pushes that have expired, or whose device or person is gone, have failed; pushes
-- whose worker was lost after the mark are uncertain. Rows locked by another transaction are left for the next time.
WITH over AS MATERIALIZED (
    SELECT send.id
    FROM push_sends AS send
    WHERE (
          send.state = 'reserved'
          AND COALESCE(send.claimed_until <= CURRENT_TIMESTAMP, TRUE)
          AND (
              send.expires_at <= CURRENT_TIMESTAMP
              OR NOT EXISTS (
                  SELECT 1
                  FROM push_devices AS device
                  JOIN accounts ON accounts.id = device.account_id
                  WHERE device.id = send.device_id
                    AND device.account_id = send.account_id
                    AND accounts.disabled_at IS NULL
              )
          )
      )
       OR (send.state = 'sending' AND send.claimed_until <= CURRENT_TIMESTAMP)
    ORDER BY send.id
    LIMIT :batch_size
    FOR NO KEY UPDATE OF send SKIP LOCKED
)
UPDATE push_sends AS send
SET state = CASE WHEN send.state = 'sending' THEN 'uncertain' ELSE 'failed' END,
    reason = CASE
        WHEN send.state = 'sending' THEN 'worker lost'
        WHEN send.expires_at <= CURRENT_TIMESTAMP THEN 'too late'
        ELSE 'removed'
    END,
    claim_token = NULL,
    claimed_until = NULL,
    finished_at = clock_timestamp()
FROM over
WHERE send.id = over.id
RETURNING send.id
