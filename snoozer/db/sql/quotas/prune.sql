-- Delete the usage of periods that are over; the longest period is a day.
DELETE FROM quota_usage
WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM quota_usage WHERE period_start < CURRENT_TIMESTAMP - INTERVAL '2 days' LIMIT :batch_size
))
RETURNING 1
