-- How many snoozes wait, and for what (docs/runbook.md): for a worker, others of their key, a newer release, a retry, an
-- uncertain send, a digest, the end of a rest, the return of their message, their person, their time; and claims.
-- Each row counts once, as snooze_waits_for() has it. A count stops at `most` + 1, and of what is due the `most` + 1 that
-- are due the longest are counted: `more_due`, as of what is paused by others than operators: `more_paused`.
-- Beyond a hundred thousand rows to come, `asleep` is an estimate: too high by what is due and not counted.
WITH due AS MATERIALIZED (
    SELECT snooze.remind_at, waits.state
    FROM email_snoozes AS snooze
    CROSS JOIN LATERAL snooze_waits_for(snooze, :known_schema) AS waits
    WHERE NOT snooze.inactive
      AND snooze.claimed_at IS NULL
      AND snooze.remind_at <= CURRENT_TIMESTAMP
    ORDER BY snooze.remind_at
    LIMIT CAST(:most AS bigint) + 1
),
put_back AS MATERIALIZED (
    -- So many of each kind, that many resting ones hide none that failed.
    SELECT of_kind.promise, of_kind.state
    FROM (VALUES ('rested'), ('failed'), ('neither')) AS kind (name)
    CROSS JOIN LATERAL (
        SELECT COALESCE(snooze.scheduled_for, snooze.remind_at) AS promise, waits.state
        FROM email_snoozes AS snooze
        CROSS JOIN LATERAL snooze_waits_for(snooze, :known_schema) AS waits
        WHERE NOT snooze.inactive
          AND snooze.claimed_at IS NULL
          AND snooze.scheduled_for IS NOT NULL
          AND snooze.remind_at > CURRENT_TIMESTAMP
          AND CASE
              WHEN snooze.deferred_until >= snooze.remind_at THEN 'rested'
              WHEN snooze.attempts > 0 OR snooze.last_error IS NOT NULL THEN 'failed'
              ELSE 'neither'
          END = kind.name
        ORDER BY snooze.remind_at
        LIMIT CAST(:most AS bigint) + 1
    ) AS of_kind
),
paused AS MATERIALIZED (
    SELECT of_kind.state
    FROM (VALUES (TRUE), (FALSE)) AS kind (by_operator)
    CROSS JOIN LATERAL (
        SELECT waits.state
        FROM email_snoozes AS snooze
        CROSS JOIN LATERAL snooze_waits_for(snooze, :known_schema) AS waits
        WHERE snooze.inactive
          AND snooze.outcome IS NULL
          AND (snooze.paused_by IS NOT NULL) = kind.by_operator
        ORDER BY snooze.id
        LIMIT CAST(:most AS bigint) + 1
    ) AS of_kind
),
in_flight AS MATERIALIZED (
    SELECT claimed_at
    FROM email_snoozes
    WHERE claimed_at IS NOT NULL
    LIMIT CAST(:most AS bigint) + 1
),
waits AS MATERIALIZED (
    SELECT state, count(*) AS rows
    FROM (
        SELECT state FROM due
        UNION ALL
        SELECT state FROM put_back
        UNION ALL
        SELECT state FROM paused
    ) AS each
    GROUP BY state
),
estimate AS MATERIALIZED (
    SELECT pg_class.reltuples::bigint - (SELECT count(*) FROM due) - (SELECT count(*) FROM put_back) AS rows
    FROM pg_class
    WHERE oid = 'ix_email_snoozes_due'::regclass
)
SELECT
    CURRENT_TIMESTAMP AS at,
    (SELECT COALESCE(sum(rows), 0)::bigint FROM waits WHERE state = 'due') AS due,
    (SELECT min(remind_at) FROM due WHERE state = 'due') AS oldest_due,
    (SELECT count(*) FROM due) > CAST(:most AS bigint) AS more_due,
    (SELECT COALESCE(sum(rows), 0)::bigint FROM waits WHERE state = 'key') AS behind_key,
    (SELECT COALESCE(sum(rows), 0)::bigint FROM waits WHERE state = 'newer') AS deferred,
    (SELECT COALESCE(sum(rows), 0)::bigint FROM waits WHERE state = 'spent') AS spent,
    (SELECT COALESCE(sum(rows), 0)::bigint FROM waits WHERE state = 'retry') AS retrying,
    (SELECT min(promise) FROM put_back WHERE state = 'retry') AS oldest_retry,
    (SELECT COALESCE(sum(rows), 0)::bigint FROM waits WHERE state = 'uncertain') AS held,
    (SELECT COALESCE(sum(rows), 0)::bigint FROM waits WHERE state = 'digest') AS in_digest,
    (SELECT COALESCE(sum(rows), 0)::bigint FROM waits WHERE state = 'resting') AS resting,
    (SELECT COALESCE(sum(rows), 0)::bigint FROM waits WHERE state = 'put_off') AS put_off,
    (SELECT COALESCE(sum(rows), 0)::bigint FROM waits WHERE state = 'paused') AS paused,
    (SELECT COALESCE(sum(rows), 0)::bigint FROM waits WHERE state = 'paused_operator') AS paused_by_operator,
    (SELECT COALESCE(sum(rows), 0)::bigint FROM waits WHERE state = 'paused_database') AS paused_in_database,
    (SELECT count(*) FROM paused WHERE state <> 'paused_operator') > CAST(:most AS bigint) AS more_paused,
    (SELECT count(*) FROM in_flight) AS claimed,
    (SELECT min(claimed_at) FROM in_flight) AS oldest_claim,
    (SELECT COALESCE(sum(rows), 0)::bigint FROM waits WHERE state = 'asleep') + CASE
        WHEN estimate.rows > 100000 AND CAST(:most AS bigint) >= 100000 THEN estimate.rows
        ELSE (
            SELECT count(*)
            FROM (
                SELECT 1
                FROM email_snoozes
                WHERE NOT inactive
                  AND claimed_at IS NULL
                  AND remind_at > CURRENT_TIMESTAMP
                ORDER BY remind_at
                LIMIT CAST(:most AS bigint) + 1 + (SELECT count(*) FROM put_back)
            ) AS to_come
        ) - (SELECT count(*) FROM put_back)
    END AS asleep,
    COALESCE(
        extract(epoch FROM CURRENT_TIMESTAMP - (SELECT min(remind_at) FROM due WHERE state = 'due')), 0
    ) AS oldest_due_seconds,
    COALESCE(
        extract(epoch FROM CURRENT_TIMESTAMP - (SELECT min(claimed_at) FROM in_flight)), 0
    ) AS oldest_claim_seconds
FROM estimate
