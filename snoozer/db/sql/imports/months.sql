-- The months of an import's history, and this one.
SELECT DISTINCT date_trunc('month', COALESCE(finished_at, CURRENT_TIMESTAMP) AT TIME ZONE 'UTC')::date AS month
FROM import_rows
WHERE import_id = :import_id
  AND verdict = 'new'
UNION
SELECT date_trunc('month', CURRENT_TIMESTAMP AT TIME ZONE 'UTC')::date
ORDER BY month
