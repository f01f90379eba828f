-- Enter jobs of another scheduler, given as a JSON array, each once: a job that was imported before adds nothing,
-- whatever the outcome of its snooze, unless an import withdrew it. If a message is snoozed already, the whole
-- statement fails.
WITH given AS MATERIALIZED (
    SELECT nextval('email_snoozes_id_seq') AS id, job.*
    FROM jsonb_to_recordset(CAST(:jobs AS jsonb)) AS job (
        job_id TEXT, user_email TEXT, message_id TEXT, due_at TIMESTAMPTZ, recurrence JSONB, zone TEXT,
        wall_time TIMESTAMP, subject TEXT, sender_email TEXT, note TEXT, priority SMALLINT, serialization_key TEXT, reference TEXT
    )
),
entered AS (
    INSERT INTO imported_jobs AS known (source, job_id, snooze_id, user_email, due_at)
    SELECT :source, job_id, id, user_email, due_at
    FROM given
    ORDER BY job_id
    ON CONFLICT (source, job_id) DO UPDATE
    SET snooze_id = EXCLUDED.snooze_id,
        user_email = EXCLUDED.user_email,
        due_at = EXCLUDED.due_at,
        seen_at = CURRENT_TIMESTAMP,
        withdrawn_at = NULL
    WHERE known.withdrawn_at IS NOT NULL
    RETURNING snooze_id
)
INSERT INTO email_snoozes (
    id, user_email, message_id, subject, sender_email, remind_at, note, recurrence, wall_time, zone, time_kind, priority,
    serialization_key, reference
)
SELECT
    given.id, given.user_email, given.message_id, given.subject, given.sender_email, given.due_at, given.note,
    NULLIF(given.recurrence, 'null'), given.wall_time, given.zone,
    CASE WHEN NULLIF(given.recurrence, 'null') IS NOT NULL THEN 'wall' END, given.priority, given.serialization_key,
    given.reference
FROM given
JOIN entered ON entered.snooze_id = given.id
ORDER BY given.id
RETURNING id
