-- Snoozes that have been over for older_than, oldest first, and the months they belong to. Cases are not over.
SELECT id, finished_at, date_trunc('month', finished_at AT TIME ZONE 'UTC')::date AS month
FROM email_snoozes
WHERE outcome IN ('sent', 'cancelled')
  AND finished_at < CURRENT_TIMESTAMP - :older_than
  AND (finished_at, id) > (COALESCE(CAST(:finished_at AS timestamptz), '-infinity'), CAST(:id AS bigint))
ORDER BY finished_at, id
LIMIT :batch_size
