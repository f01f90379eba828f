-- How much is due, how much waits behind others of its key or for a newer release, how much is in hand, how much is
-- still to come, and how old the oldest due row is.
-- Of one serialization key only the first row is due, and none while one is in flight. Beyond a hundred thousand rows
-- to come, `asleep` is the estimate of the last ANALYZE.
WITH waiting AS MATERIALIZED (
    SELECT
        serialization_key,
        schema_version > :known_schema AS deferred,
        count(*) AS rows,
        min(remind_at) AS oldest
    FROM email_snoozes
    WHERE NOT inactive
      AND claimed_at IS NULL
      AND remind_at <= CURRENT_TIMESTAMP
      AND attempts < max_attempts
    GROUP BY serialization_key, deferred
),
key AS MATERIALIZED (
    SELECT
        deferred,
        rows,
        oldest,
        CASE
            WHEN deferred THEN 0
            WHEN serialization_key IS NULL THEN rows
            WHEN EXISTS (
                SELECT 1
                FROM email_snoozes AS busy
                WHERE busy.serialization_key = waiting.serialization_key
                  AND busy.claimed_at IS NOT NULL
            ) THEN 0
            ELSE 1
        END AS ready
    FROM waiting
),
due AS MATERIALIZED (
    SELECT
        COALESCE(sum(ready), 0)::bigint AS rows,
        COALESCE(sum(rows - ready) FILTER (WHERE NOT deferred), 0)::bigint AS behind_key,
        COALESCE(sum(rows) FILTER (WHERE deferred), 0)::bigint AS deferred,
        min(oldest) FILTER (WHERE ready > 0) AS oldest
    FROM key
),
in_flight AS MATERIALIZED (
    SELECT count(*) AS rows, min(claimed_at) AS oldest
    FROM email_snoozes
    WHERE claimed_at IS NOT NULL
),
estimate AS MATERIALIZED (
    SELECT reltuples::bigint - due.rows - due.behind_key - due.deferred AS rows
    FROM pg_class
    CROSS JOIN due
    WHERE oid = 'ix_email_snoozes_due'::regclass
)
SELECT
    due.rows AS due,
    due.behind_key,
    due.deferred,
    in_flight.rows AS claimed,
    CASE WHEN estimate.rows > 100000 THEN estimate.rows ELSE (
        SELECT count(*)
        FROM email_snoozes
        WHERE NOT inactive
          AND claimed_at IS NULL
          AND remind_at > CURRENT_TIMESTAMP
    ) END AS asleep,
    COALESCE(extract(epoch FROM CURRENT_TIMESTAMP - due.oldest), 0) AS oldest_due_seconds,
    COALESCE(extract(epoch FROM CURRENT_TIMESTAMP - in_flight.oldest), 0) AS oldest_claim_seconds
FROM due
CROSS JOIN in_flight
CROSS JOIN estimate
