-- What goes wrong, by reason, over the last day: the reasons of /admin, with the fingerprint in their addresses there.
-- An error's text is compared without addresses and long numbers, as in queries/cases.py.
WITH failed AS MATERIALIZED (
    SELECT
        user_email,
        outcome,
        last_error_at,
        regexp_replace(
            regexp_replace(
                COALESCE(NULLIF(last_error, ''), 'No error was written down'),
                '[^\s<>(),;:@]*@[^\s<>(),;@]*',
                '…@…',
                'g'
            ),
            '\m(\d{5,}|[0-9A-Fa-f]{8,})\M',
            '…',
            'g'
        ) AS reason
    FROM email_snoozes
    WHERE last_error_at > CURRENT_TIMESTAMP - INTERVAL '1 day'
)
SELECT
    md5(reason) AS fingerprint,
    reason,
    count(*) AS snoozes,
    count(DISTINCT user_email) AS people,
    count(*) FILTER (WHERE outcome = 'retired') AS cases,
    min(last_error_at) AS first_seen,
    max(last_error_at) AS last_seen
FROM failed
GROUP BY reason
ORDER BY snoozes DESC, reason
LIMIT 100
