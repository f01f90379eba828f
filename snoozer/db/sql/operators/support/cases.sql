-- Cases by what they have in common: the fingerprint that /admin/cases takes as `reason`, how many, of how many people.
SELECT
    snooze_error_fingerprint(last_error) AS fingerprint,
    min(snooze_error_text(last_error)) AS reason,
    count(*) AS cases,
    count(DISTINCT user_email) AS people,
    min(finished_at) AS first_case,
    max(finished_at) AS last_case
FROM email_snoozes
WHERE outcome = 'retired'
GROUP BY snooze_error_fingerprint(last_error)
ORDER BY cases DESC, fingerprint
LIMIT 100
