-- The position of the row that comes :rows due rows of a lane after a given position; no row if there are fewer.
SELECT remind_at, id
FROM email_snoozes
WHERE NOT inactive
  AND claimed_at IS NULL
  AND NOT behind_key
  AND remind_at <= CURRENT_TIMESTAMP
  AND priority = :priority
  AND LEAST(crash_count, 2) = :crashes
  AND num_nonnulls(serialization_key) = CAST(:keyed AS integer)
  AND (remind_at, id) > (COALESCE(CAST(:after_time AS timestamptz), '-infinity'), CAST(:after_id AS bigint))
ORDER BY remind_at, id
OFFSET :rows - 1
LIMIT 1
