-- There is a partition for each of these months; answers those that had none.
SELECT month
FROM unnest(CAST(:months AS date[])) AS month
WHERE snooze_archive_prepare(month)
