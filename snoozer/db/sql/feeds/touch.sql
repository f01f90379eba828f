-- Record that a feed was read; written at most once an hour.
UPDATE feeds
SET used_at = clock_timestamp()
WHERE id = :id
  AND COALESCE(used_at, '-infinity') < clock_timestamp() - INTERVAL '1 hour'
