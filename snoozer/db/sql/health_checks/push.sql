-- Devices that get pushes and those with a problem, pushes of the last day by their end, and how many have been due for
-- some minutes.
SELECT
    (SELECT count(*) FROM push_devices) AS devices,
    (SELECT count(*) FROM push_devices WHERE problem IS NOT NULL) AS refused,
    count(*) FILTER (WHERE state = 'sent') AS sent,
    count(*) FILTER (WHERE state = 'failed') AS failed,
    count(*) FILTER (WHERE state = 'uncertain') AS uncertain,
    count(*) FILTER (
        WHERE state = 'reserved'
          AND try_at < CURRENT_TIMESTAMP - INTERVAL '5 minutes'
    ) AS overdue
FROM push_sends
WHERE created_at > CURRENT_TIMESTAMP - INTERVAL '1 day'
