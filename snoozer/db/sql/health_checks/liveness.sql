-- Alive workers, the age of the last sweep, and the work that waits. Ages in seconds.
SELECT
    (
        SELECT count(*)
        FROM workers
        WHERE state = 'alive'
          AND heartbeat_at > clock_timestamp() - :dead_after
    ) AS workers,
    (
        SELECT extract(epoch FROM clock_timestamp() - finished_at)
        FROM housekeeping_runs
        WHERE chore = 'recover'
    ) AS swept_ago,
    (
        SELECT extract(epoch FROM clock_timestamp() - finished_at)
        FROM housekeeping_runs
        WHERE chore = 'prepare months'
    ) AS prepared_ago,
    (SELECT count(*) FROM email_snoozes WHERE outcome = 'retired') AS cases,
    (
        SELECT count(*)
        FROM reminder_sends
        WHERE state = 'uncertain'
          AND uncertain_at < clock_timestamp() - INTERVAL '1 day'
    ) AS long_uncertain,
    (SELECT count(*) FROM open_breakers) AS open_breakers,
    (
        SELECT count(*)
        FROM email_snoozes AS snooze
        CROSS JOIN LATERAL snooze_state(snooze, :known_schema) AS its
        WHERE NOT snooze.inactive
          AND snooze.claimed_at IS NULL
          AND snooze.remind_at <= CURRENT_TIMESTAMP
          AND snooze.schema_version > :known_schema
          AND its.why = 'newer'
    ) AS deferred
