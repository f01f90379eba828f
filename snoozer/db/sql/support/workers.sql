-- Who works, since when, last heard when, and how much each holds.
SELECT workers.id, workers.state, workers.started_at, workers.heartbeat_at, count(snooze.id) AS claims
FROM workers
LEFT JOIN email_snoozes AS snooze ON snooze.claimed_by = workers.id
GROUP BY workers.id
ORDER BY workers.started_at DESC
LIMIT 100
