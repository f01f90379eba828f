-- How many reminders became cases in the last :lately and are not decided, counted up to :most.
SELECT count(*)
FROM (
    SELECT 1
    FROM email_snoozes
    WHERE outcome = 'retired'
      AND finished_at > CURRENT_TIMESTAMP - CAST(:lately AS interval)
    ORDER BY finished_at
    LIMIT :most
) AS newest
