-- Workers by release: how many are alive, since when the first of them runs, and how much they hold.
SELECT
    COALESCE(workers.version, 'not known') AS version,
    count(DISTINCT workers.id) FILTER (
        WHERE workers.state = 'alive' AND clock_timestamp() - workers.heartbeat_at <= CAST(:dead_after AS interval)
    ) AS alive,
    count(DISTINCT workers.id) AS known,
    min(workers.started_at) AS first_started,
    count(snooze.id) AS claims
FROM workers
LEFT JOIN email_snoozes AS snooze ON snooze.claimed_by = workers.id
GROUP BY COALESCE(workers.version, 'not known')
ORDER BY version DESC
LIMIT 100
