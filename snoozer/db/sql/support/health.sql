-- Counts for gauges that are not the backlog. Cases, uncertain sends, what is to be tried again within a day, age of
-- housekeeping.
SELECT
    (SELECT count(*) FROM email_snoozes WHERE outcome = 'retired') AS cases,
    (SELECT count(*) FROM reminder_sends WHERE state = 'uncertain') AS uncertain,
    (
        SELECT count(*)
        FROM email_snoozes
        WHERE NOT inactive
          AND claimed_at IS NULL
          AND remind_at < CURRENT_TIMESTAMP + INTERVAL '1 day'
          AND attempts > 0
    ) + (SELECT count(*) FROM email_snoozes WHERE claimed_at IS NOT NULL AND attempts > 0) AS retrying,
    (SELECT count(*) FROM workers WHERE state = 'alive') AS workers,
    (SELECT count(*) FROM circuit_breakers WHERE state <> 'closed') AS breakers_open,
    COALESCE(
        (
            SELECT extract(epoch FROM clock_timestamp() - max(finished_at))
            FROM housekeeping_runs
            WHERE chore = 'recover'
        ),
        -1
    ) AS housekeeping_age
