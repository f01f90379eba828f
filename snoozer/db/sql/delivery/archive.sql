-- name: create_partitions
-- Create the partitions of these months; returns the months whose partition was missing.
SELECT month
FROM unnest(CAST(:months AS date[])) AS month
WHERE snooze_archive_prepare(month)

-- name: drop_expired
-- Drop the partitions of whole months that are older than keep_months.
SELECT snooze_archive_expire(
    (date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC') - :keep_months * INTERVAL '1 month')::date
) AS partition

-- name: list_archivable
-- Snoozes that have been over for older_than, oldest first, and the months they belong to. Cases are not over.
-- Times before 1970 are not read: no program can hold all of them.
SELECT id, finished_at, date_trunc('month', finished_at AT TIME ZONE 'UTC')::date AS month
FROM email_snoozes
WHERE outcome IN ('sent', 'cancelled')
  AND finished_at < CURRENT_TIMESTAMP - :older_than
  AND (finished_at, id) > (COALESCE(CAST(:finished_at AS timestamptz), '1970-01-01 00:00+00'), CAST(:id AS bigint))
ORDER BY finished_at, id
LIMIT :batch_size

-- name: prune_events
-- Delete old events whose snooze is neither live nor archived any more.
-- Events are not archived with their snooze: the page of an archived snooze reads
-- them.
WITH expired AS MATERIALIZED (
    SELECT event.id
    FROM snooze_events AS event
    WHERE event.at < date_trunc('month', CURRENT_TIMESTAMP) - :keep_months * INTERVAL '1 month'
      AND event.id BETWEEN :first_id AND :last_id
      AND NOT EXISTS (SELECT 1 FROM email_snoozes AS snooze WHERE snooze.id = event.snooze_id)
      AND NOT EXISTS (SELECT 1 FROM email_snoozes_archive AS snooze WHERE snooze.id = event.snooze_id)
    LIMIT :batch_size
)
DELETE FROM snooze_events AS event
USING expired
WHERE event.id = expired.id
RETURNING event.id

-- name: upcoming_months
-- This month and the next two, whose partitions must exist before a batch needs them.
SELECT (date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC') + number * INTERVAL '1 month')::date AS month
FROM generate_series(0, 2) AS number
