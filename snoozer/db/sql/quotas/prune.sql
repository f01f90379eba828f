-- Delete what was used in periods that are over; the longest is a day.
DELETE FROM quota_usage
WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM quota_usage WHERE period_start < CURRENT_TIMESTAMP - INTERVAL '2 days' LIMIT :batch_size
))
RETURNING 1
