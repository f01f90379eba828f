-- How many snoozes wait, and for what (docs/runbook.md): for a worker, others of their key, a newer release, a retry, an
-- uncertain send, a digest, the end of a rest, the return of their message, their person, their time; and claims.
-- Each row counts once, by snooze_state(). A count stops at `most` + 1. Of the due rows only the `most` + 1 that are
-- due the longest are counted (`more_due` tells if there are more), and likewise of rows paused by others than
-- operators (`more_paused`). Beyond a hundred thousand rows to come, `asleep` is an estimate: too high by the due rows
-- that are not counted.
WITH due AS MATERIALIZED (
    SELECT snooze.remind_at, its.state, its.why
    FROM email_snoozes AS snooze
    CROSS JOIN LATERAL snooze_state(snooze, :known_schema) AS its
    WHERE NOT snooze.inactive
      AND snooze.claimed_at IS NULL
      AND snooze.remind_at <= CURRENT_TIMESTAMP
    ORDER BY snooze.remind_at
    LIMIT CAST(:most AS bigint) + 1
),
put_back AS MATERIALIZED (
    -- Take this many of each kind, so that many resting rows hide no failed ones.
    SELECT of_kind.promise, of_kind.state, of_kind.why
    FROM (VALUES ('rested'), ('failed'), ('neither')) AS kind (name)
    CROSS JOIN LATERAL (
        SELECT snooze_promise(snooze) AS promise, its.state, its.why
        FROM email_snoozes AS snooze
        CROSS JOIN LATERAL snooze_state(snooze, :known_schema) AS its
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
    SELECT of_kind.state, of_kind.why
    FROM (VALUES (TRUE), (FALSE)) AS kind (by_operator)
    CROSS JOIN LATERAL (
        SELECT its.state, its.why
        FROM email_snoozes AS snooze
        CROSS JOIN LATERAL snooze_state(snooze, :known_schema) AS its
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
estimate AS MATERIALIZED (
    SELECT pg_class.reltuples::bigint - (SELECT count(*) FROM due) - (SELECT count(*) FROM put_back) AS rows
    FROM pg_class
    WHERE oid = 'ix_email_snoozes_due'::regclass
)
SELECT
    CURRENT_TIMESTAMP AS at,
    count(*) FILTER (WHERE state = 'due') AS due,
    min(remind_at) FILTER (WHERE state = 'due') AS oldest_due,
    (SELECT count(*) FROM due) > CAST(:most AS bigint) AS more_due,
    count(*) FILTER (WHERE why = 'key') AS behind_key,
    count(*) FILTER (WHERE why = 'newer') AS deferred,
    count(*) FILTER (WHERE why = 'spent') AS spent,
    count(*) FILTER (WHERE why = 'retry') AS retrying,
    min(promise) FILTER (WHERE why = 'retry') AS oldest_retry,
    count(*) FILTER (WHERE state = 'uncertain') AS held,
    count(*) FILTER (WHERE why = 'digest') AS in_digest,
    count(*) FILTER (WHERE state = 'waiting' AND why = 'rest') AS resting,
    count(*) FILTER (WHERE why = 'message') AS put_off,
    count(*) FILTER (WHERE why = 'owner_pause') AS paused,
    count(*) FILTER (WHERE why = 'operator_pause') AS paused_by_operator,
    count(*) FILTER (WHERE why = 'database_pause') AS paused_in_database,
    (SELECT count(*) FROM paused WHERE why <> 'operator_pause') > CAST(:most AS bigint) AS more_paused,
    (SELECT count(*) FROM in_flight) AS claimed,
    (SELECT min(claimed_at) FROM in_flight) AS oldest_claim,
    count(*) FILTER (WHERE state = 'asleep') + (
        SELECT CASE
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
        END
        FROM estimate
    ) AS asleep,
    COALESCE(
        extract(epoch FROM CURRENT_TIMESTAMP - min(remind_at) FILTER (WHERE state = 'due')), 0
    ) AS oldest_due_seconds,
    COALESCE(
        extract(epoch FROM CURRENT_TIMESTAMP - (SELECT min(claimed_at) FROM in_flight)), 0
    ) AS oldest_claim_seconds
FROM (
    SELECT state, why, remind_at, NULL::timestamptz AS promise FROM due
    UNION ALL
    SELECT state, why, NULL, promise FROM put_back
    UNION ALL
    SELECT state, why, NULL, NULL FROM paused
) AS each
