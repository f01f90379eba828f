-- Create the partitions of these months; returns the months whose partition was missing.
SELECT month
FROM unnest(CAST(:months AS date[])) AS month
WHERE snooze_archive_prepare(month)
