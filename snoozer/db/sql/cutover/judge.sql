-- Compare each of these jobs, given as a JSON array, with what is known of it: new, same, moved (the old scheduler has
-- another time, and here the job is as it was imported), over, taken (its message has another snooze), readdressed, or
-- repeated (seen since the import began), in the order of the jobs.
SELECT
    given.job_id,
    known.snooze_id,
    CASE
        WHEN known.withdrawn_at IS NULL AND known.seen_at >= :began THEN 'repeated'
        WHEN known.job_id IS NULL OR known.withdrawn_at IS NOT NULL THEN
            CASE
                WHEN EXISTS (
                    SELECT 1
                    FROM email_snoozes AS other
                    WHERE other.user_email = given.user_email
                      AND other.message_id = given.message_id
                      AND NOT other.inactive
                ) THEN 'taken'
                ELSE 'new'
            END
        WHEN snooze.id IS NULL OR snooze.outcome IS NOT NULL THEN 'over'
        WHEN known.user_email <> given.user_email THEN 'readdressed'
        WHEN known.due_at <> given.due_at AND snooze_promise(snooze) = known.due_at THEN 'moved'
        ELSE 'same'
    END AS verdict
FROM ROWS FROM (
    jsonb_to_recordset(CAST(:jobs AS jsonb)) AS (job_id TEXT, user_email TEXT, message_id TEXT, due_at TIMESTAMPTZ)
) WITH ORDINALITY AS given (job_id, user_email, message_id, due_at, number)
LEFT JOIN imported_jobs AS known ON known.source = :source AND known.job_id = given.job_id
LEFT JOIN email_snoozes AS snooze ON snooze.id = known.snooze_id
ORDER BY given.number
