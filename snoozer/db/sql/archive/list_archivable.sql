-- Snoozes that have been over for older_than, oldest first, and the months they belong to. Cases are not over.
-- Times before 1970 are not read: no program can hold all of them.
SELECT id, finished_at, date_trunc('month', finished_at AT TIME ZONE 'UTC')::date AS month
FROM email_snoozes
WHERE outcome IN ('sent', 'cancelled')
  AND finished_at < CURRENT_TIMESTAMP - :older_than
  AND (finished_at, id) > (COALESCE(CAST(:finished_at AS timestamptz), '1970-01-01 00:00+00'), CAST(:id AS bigint))
ORDER BY finished_at, id
LIMIT :batch_size
