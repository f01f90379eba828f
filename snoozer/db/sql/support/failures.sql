-- What goes wrong, by reason, over the last day.
SELECT
    last_error AS reason,
    count(*) AS snoozes,
    count(*) FILTER (WHERE outcome = 'retired') AS cases,
    min(last_error_at) AS first_seen,
    max(last_error_at) AS last_seen
FROM email_snoozes
WHERE last_error_at > CURRENT_TIMESTAMP - INTERVAL '1 day'
GROUP BY last_error
ORDER BY snoozes DESC, reason
LIMIT 100
