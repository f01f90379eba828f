-- Record every minute that has ended since the last recorded one, and record the last :again a second time: sends by
-- the ledger, failures by the events. Unchanged minutes are not written. Only minutes of the last day are recorded.
-- `due` and `oldest_due` are measured now and belong to the minute that has just ended; at most :most_due are counted.
WITH present AS MATERIALIZED (
    SELECT date_bin(INTERVAL '1 minute', clock_timestamp(), '2000-01-01 00:00+00') AS ends
),
bounds AS MATERIALIZED (
    SELECT
        GREATEST(
            date_bin(INTERVAL '1 hour', ends, '2000-01-01 00:00+00') - INTERVAL '1 day',
            LEAST(
                ends - CAST(:again AS interval),
                COALESCE((SELECT max(starts_at) FROM queue_minutes WHERE seconds = 60), '-infinity') + INTERVAL '1 minute'
            )
        ) AS starts,
        ends
    FROM present
),
sends AS MATERIALIZED (
    SELECT
        date_bin(INTERVAL '1 minute', sent_at, '2000-01-01 00:00+00') AS starts_at,
        count(*) AS sent,
        percentile_cont(ARRAY[0.5, 0.99]) WITHIN GROUP (
            ORDER BY CAST(extract(epoch FROM sent_at - COALESCE(late_from, scheduled_for)) AS double precision)
        ) AS lateness
    FROM reminder_sends
    WHERE state = 'sent'
      AND channel = 'email'
      AND sent_at >= (SELECT starts FROM bounds)
      AND sent_at < (SELECT ends FROM bounds)
    GROUP BY 1
),
failures AS MATERIALIZED (
    SELECT
        date_bin(INTERVAL '1 minute', at, '2000-01-01 00:00+00') AS starts_at,
        count(*) FILTER (WHERE kind = 'failed') AS retried,
        count(*) FILTER (WHERE kind = 'retired') AS failed
    FROM snooze_events
    WHERE kind IN ('failed', 'retired')
      AND at >= (SELECT starts FROM bounds)
      AND at < (SELECT ends FROM bounds)
    GROUP BY 1
),
waiting AS MATERIALIZED (
    SELECT
        count(*) AS due,
        COALESCE(CAST(extract(epoch FROM clock_timestamp() - min(remind_at)) AS double precision), 0) AS oldest_due
    FROM (
        SELECT remind_at
        FROM email_snoozes
        WHERE NOT inactive
          AND claimed_at IS NULL
          AND NOT behind_key
          AND remind_at <= CURRENT_TIMESTAMP
          AND attempts < max_attempts
          AND schema_version <= :known_schema
        ORDER BY remind_at
        LIMIT :most_due
    ) AS due
)
INSERT INTO queue_minutes AS known (seconds, starts_at, sent, retried, failed, p50, p99, due, oldest_due)
SELECT
    60,
    minute,
    COALESCE(sends.sent, 0),
    COALESCE(failures.retried, 0),
    COALESCE(failures.failed, 0),
    sends.lateness[1],
    sends.lateness[2],
    waiting.due,
    waiting.oldest_due
FROM bounds
CROSS JOIN LATERAL generate_series(bounds.starts, bounds.ends - INTERVAL '1 minute', INTERVAL '1 minute') AS minute
LEFT JOIN sends ON sends.starts_at = minute
LEFT JOIN failures ON failures.starts_at = minute
LEFT JOIN waiting ON minute = bounds.ends - INTERVAL '1 minute'
ON CONFLICT (seconds, starts_at) DO UPDATE
SET sent = EXCLUDED.sent,
    retried = EXCLUDED.retried,
    failed = EXCLUDED.failed,
    p50 = EXCLUDED.p50,
    p99 = EXCLUDED.p99
WHERE (known.sent, known.retried, known.failed, known.p50, known.p99)
    IS DISTINCT FROM (EXCLUDED.sent, EXCLUDED.retried, EXCLUDED.failed, EXCLUDED.p50, EXCLUDED.p99)
RETURNING known.starts_at
