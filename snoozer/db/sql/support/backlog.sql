-- How much is due, how much is in hand, how much is still to come, and how old the oldest due row is.
-- Beyond a hundred thousand rows to come, `asleep` is the estimate of the last ANALYZE.
WITH due AS MATERIALIZED (
    SELECT count(*) AS rows, min(remind_at) AS oldest
    FROM email_snoozes
    WHERE NOT inactive
      AND claimed_at IS NULL
      AND remind_at <= CURRENT_TIMESTAMP
      AND attempts < max_attempts
),
in_flight AS MATERIALIZED (
    SELECT count(*) AS rows, min(claimed_at) AS oldest
    FROM email_snoozes
    WHERE claimed_at IS NOT NULL
),
estimate AS MATERIALIZED (
    SELECT reltuples::bigint - due.rows AS rows
    FROM pg_class
    CROSS JOIN due
    WHERE oid = 'ix_email_snoozes_due'::regclass
)
SELECT
    due.rows AS due,
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
