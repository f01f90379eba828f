-- Drop the partitions of whole months that are older than keep_months.
SELECT snooze_archive_expire(
    (date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC') - :keep_months * INTERVAL '1 month')::date
) AS partition
