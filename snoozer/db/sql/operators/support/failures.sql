-- Failures of the last day by reason: the groups of /admin/cases, with the fingerprint in their addresses.
-- snooze_error_fingerprint() alone decides which errors are alike.
WITH failed AS MATERIALIZED (
    SELECT
        user_email,
        outcome,
        last_error_at,
        snooze_error_text(last_error) AS reason,
        snooze_error_fingerprint(last_error) AS fingerprint
    FROM email_snoozes
    WHERE last_error_at > CURRENT_TIMESTAMP - INTERVAL '1 day'
)
SELECT
    fingerprint,
    min(reason) AS reason,
    count(*) AS snoozes,
    count(DISTINCT user_email) AS people,
    count(*) FILTER (WHERE outcome = 'retired') AS cases,
    min(last_error_at) AS first_seen,
    max(last_error_at) AS last_seen
FROM failed
GROUP BY fingerprint
ORDER BY snoozes DESC, fingerprint
LIMIT 100
