-- Work that waits for people, and the state of workers, mail servers and housekeeping. Cases and uncertain sends are counted up to
-- `most` + 1; a worker without a heartbeat for `dead_after` is not alive, and counts as lost for a day.
SELECT
    (
        SELECT count(*)
        FROM (
            SELECT 1
            FROM email_snoozes
            WHERE outcome = 'retired'
            ORDER BY finished_at
            LIMIT CAST(:most AS bigint) + 1
        ) AS cases
    ) AS cases,
    (SELECT max(finished_at) FROM email_snoozes WHERE outcome = 'retired') AS newest_case,
    (
        SELECT count(*)
        FROM (
            SELECT 1
            FROM reminder_sends
            WHERE state = 'uncertain'
            LIMIT CAST(:most AS bigint) + 1
        ) AS uncertain
    ) AS uncertain,
    (SELECT min(uncertain_at) FROM reminder_sends WHERE state = 'uncertain') AS oldest_uncertain,
    worker.alive AS workers,
    worker.draining,
    worker.lost,
    worker.heard,
    (SELECT count(*) FROM open_breakers) AS breakers_open,
    (SELECT max(finished_at) FROM housekeeping_runs WHERE chore = ANY(CAST(:sweep AS text[]))) AS housekeeping,
    COALESCE(
        (
            SELECT extract(epoch FROM clock_timestamp() - max(finished_at))
            FROM housekeeping_runs
            WHERE chore = ANY(CAST(:sweep AS text[]))
        ),
        -1
    ) AS housekeeping_age
FROM (
    SELECT
        count(*) FILTER (WHERE state = 'alive' AND is_heard) AS alive,
        count(*) FILTER (WHERE state = 'draining' AND is_heard) AS draining,
        count(*) FILTER (WHERE NOT is_heard AND last_seen_by > CURRENT_TIMESTAMP - INTERVAL '1 day') AS lost,
        max(heartbeat_at) AS heard
    FROM (
        SELECT
            state,
            heartbeat_at,
            COALESCE(stopped_at, CURRENT_TIMESTAMP) AS last_seen_by,
            COALESCE(stopped_at, CURRENT_TIMESTAMP) - heartbeat_at <= CAST(:dead_after AS interval) AS is_heard
        FROM workers
    ) AS known
) AS worker
