-- Create the partitions of these months; returns those that were missing.
SELECT month
FROM unnest(CAST(:months AS date[])) AS month
WHERE snooze_archive_prepare(month)
