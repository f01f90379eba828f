-- Whole months that have been kept for long enough go, and nothing else does.
SELECT snooze_archive_expire(
    (date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC') - :keep_months * INTERVAL '1 month')::date
) AS partition
