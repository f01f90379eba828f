-- Workers that are not dead, or died within the last seconds: the age of the last heartbeat, how many rows each holds,
-- and how long the first of their leases still runs.
SELECT
    workers.id,
    workers.state,
    EXTRACT(EPOCH FROM clock_timestamp() - workers.heartbeat_at) AS heartbeat_age,
    count(snooze.id) AS claims,
    EXTRACT(EPOCH FROM min(snooze.lease_expires_at) - clock_timestamp()) AS lease_left
FROM workers
LEFT JOIN email_snoozes AS snooze ON snooze.claimed_by = workers.id
WHERE workers.state <> 'dead' OR workers.stopped_at > clock_timestamp() - INTERVAL '20 seconds'
GROUP BY workers.id
ORDER BY workers.started_at
