-- The next members of an operation whose act has not been done, in order; ids beyond `after`.
SELECT snooze_id
FROM operation_members
WHERE operation_id = :id
  AND result IS NULL
  AND snooze_id > :after
ORDER BY snooze_id
LIMIT :limit
