-- Who works, in which release and where, since when, last heard when, and how much each holds.
SELECT
    workers.id,
    workers.version,
    workers.host,
    CASE
        WHEN workers.state = 'alive' AND clock_timestamp() - workers.heartbeat_at > CAST(:dead_after AS interval) THEN 'mute'
        ELSE workers.state
    END AS state,
    workers.started_at,
    clock_timestamp() - workers.heartbeat_at AS heard_ago,
    count(snooze.id) AS claims
FROM workers
LEFT JOIN email_snoozes AS snooze ON snooze.claimed_by = workers.id
GROUP BY workers.id
ORDER BY workers.started_at DESC
LIMIT 100
