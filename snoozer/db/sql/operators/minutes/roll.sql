-- Record hours of the last thirty days that ended a day ago and are not recorded, at most :most, the newest first, and
-- delete minutes whose hour is recorded, and hours that are older. An hour is counted again from the ledger, which by
-- then has the results of uncertain sends.
WITH present AS MATERIALIZED (
    SELECT date_bin(INTERVAL '1 hour', clock_timestamp(), '2000-01-01 00:00+00') AS hour
),
missing AS MATERIALIZED (
    SELECT starts_at
    FROM present
    CROSS JOIN LATERAL generate_series(
        present.hour - INTERVAL '30 days', present.hour - INTERVAL '25 hours', INTERVAL '1 hour'
    ) AS starts_at
    WHERE NOT EXISTS (
        SELECT 1
        FROM queue_minutes AS known
        WHERE known.seconds = 3600
          AND known.starts_at = starts_at.starts_at
    )
    ORDER BY starts_at DESC
    LIMIT :most
),
rolled AS (
    INSERT INTO queue_minutes (seconds, starts_at, sent, retried, failed, p50, p99, due, oldest_due)
    SELECT
        3600,
        missing.starts_at,
        sends.sent,
        failures.retried,
        failures.failed,
        sends.lateness[1],
        sends.lateness[2],
        minutes.due,
        minutes.oldest_due
    FROM missing
    CROSS JOIN LATERAL (
        SELECT
            count(*) AS sent,
            percentile_cont(ARRAY[0.5, 0.99]) WITHIN GROUP (
                ORDER BY CAST(extract(epoch FROM sent_at - COALESCE(late_from, scheduled_for)) AS double precision)
            ) AS lateness
        FROM reminder_sends
        WHERE state = 'sent'
          AND channel = 'email'
          AND sent_at >= missing.starts_at
          AND sent_at < missing.starts_at + INTERVAL '1 hour'
    ) AS sends
    CROSS JOIN LATERAL (
        SELECT
            count(*) FILTER (WHERE kind = 'failed') AS retried,
            count(*) FILTER (WHERE kind = 'retired') AS failed
        FROM snooze_events
        WHERE kind IN ('failed', 'retired')
          AND at >= missing.starts_at
          AND at < missing.starts_at + INTERVAL '1 hour'
    ) AS failures
    CROSS JOIN LATERAL (
        SELECT max(due) AS due, max(oldest_due) AS oldest_due
        FROM queue_minutes AS minute
        WHERE minute.seconds = 60
          AND minute.starts_at >= missing.starts_at
          AND minute.starts_at < missing.starts_at + INTERVAL '1 hour'
    ) AS minutes
    ON CONFLICT (seconds, starts_at) DO NOTHING
    RETURNING starts_at
),
forgotten AS (
    DELETE FROM queue_minutes AS old
    USING present
    WHERE (
        old.seconds = 60
        AND old.starts_at < present.hour - INTERVAL '1 day'
        AND (
            date_bin(INTERVAL '1 hour', old.starts_at, '2000-01-01 00:00+00') IN (SELECT starts_at FROM rolled)
            OR EXISTS (
                SELECT 1
                FROM queue_minutes AS known
                WHERE known.seconds = 3600
                  AND known.starts_at = date_bin(INTERVAL '1 hour', old.starts_at, '2000-01-01 00:00+00')
            )
        )
    )
    OR old.starts_at < present.hour - INTERVAL '30 days'
)
SELECT starts_at
FROM rolled
