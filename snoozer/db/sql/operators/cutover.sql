-- name: compare
-- Each time at which a job was due, with what the old scheduler did: missed, early, late or twice beyond the tolerance,
-- or the same; withdrawn if the job vanished before and was not sent; pending if it is too soon to say.
SELECT
    job_id,
    due_at,
    GREATEST(would_send_at - GREATEST(due_at, noticed_at), INTERVAL '0') AS shadow_delay,
    sent_at,
    CASE
        WHEN cardinality(sent_at) > 1 THEN 'twice'
        WHEN sent_at[1] < due_at - :tolerance THEN 'early'
        WHEN sent_at[1] > due_at + :tolerance THEN 'late'
        WHEN cardinality(sent_at) = 1 THEN 'same'
        WHEN gone_at IS NOT NULL THEN 'withdrawn'
        WHEN due_at + :tolerance < :until THEN 'missed'
        ELSE 'pending'
    END AS kind
FROM shadow_jobs
WHERE source = :source
ORDER BY due_at, job_id

-- name: count_live
-- How many imported jobs of a source still are to be sent here.
SELECT count(*)
FROM imported_jobs AS known
JOIN email_snoozes AS snooze ON snooze.id = known.snooze_id
WHERE known.source = :source
  AND known.withdrawn_at IS NULL
  AND snooze.outcome IS NULL

-- name: erase
-- Forget the address of a person whose account is deleted in the imported jobs, so that their source does not bring
-- them back, and delete the person's shadow jobs.
WITH imported AS (
    UPDATE imported_jobs
    SET user_email = '',
        withdrawn_at = NULL
    WHERE user_email = :user_email
)
DELETE FROM shadow_jobs
WHERE user_email = :user_email

-- name: forget
-- Delete the data of one scheduler's shadow, a batch at a time.
DELETE FROM shadow_jobs
WHERE ctid = ANY(ARRAY(SELECT ctid FROM shadow_jobs WHERE source = :source LIMIT :batch_size))
RETURNING job_id

-- name: forget_sends
-- Forget the sends of the old scheduler, before its log is read again.
UPDATE shadow_jobs
SET sent_at = '{}'
WHERE source = :source
  AND sent_at <> '{}'

-- name: judge
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

-- name: list_missing
-- Imported jobs that still are to be sent here, and that no import has found in their source since that time.
SELECT known.job_id, known.snooze_id, known.user_email
FROM imported_jobs AS known
JOIN email_snoozes AS snooze ON snooze.id = known.snooze_id
WHERE known.source = :source
  AND known.seen_at < :before
  AND known.withdrawn_at IS NULL
  AND snooze.outcome IS NULL
ORDER BY known.job_id
LIMIT :limit

-- name: mark_gone
-- Note which jobs vanished from the old scheduler before they were due: cancelled, moved, or sent early. A job that
-- vanished within a margin of its time may have been sent by a clock that is ahead.
UPDATE shadow_jobs
SET gone_at = CURRENT_TIMESTAMP
WHERE source = :source
  AND seen_at < :before
  AND gone_at IS NULL
  AND would_send_at IS NULL
  AND due_at > CURRENT_TIMESTAMP + :margin
RETURNING job_id

-- name: mark_seen
-- Note that these jobs, which were imported before, are still in their source, and when they are due there.
UPDATE imported_jobs AS known
SET seen_at = CURRENT_TIMESTAMP,
    due_at = COALESCE(given.due_at, known.due_at)
FROM jsonb_to_recordset(CAST(:jobs AS jsonb)) AS given (job_id TEXT, due_at TIMESTAMPTZ)
WHERE known.source = :source
  AND known.job_id = given.job_id

-- name: next_due
-- In how many seconds a worker would send something next; NULL if nothing waits.
SELECT EXTRACT(EPOCH FROM min(due_at) - CURRENT_TIMESTAMP)
FROM shadow_jobs
WHERE source = :source
  AND would_send_at IS NULL
  AND gone_at IS NULL

-- name: observe
-- Note jobs that the old scheduler has, given as a JSON array: each with every time at which it was due.
INSERT INTO shadow_jobs AS known (source, job_id, due_at, user_email, priority, serialization_key)
SELECT :source, job_id, due_at, user_email, priority, serialization_key
FROM jsonb_to_recordset(CAST(:jobs AS jsonb)) AS given (
    job_id TEXT, due_at TIMESTAMPTZ, user_email TEXT, priority SMALLINT, serialization_key TEXT
)
ORDER BY job_id
ON CONFLICT (source, job_id, due_at) DO UPDATE
SET user_email = EXCLUDED.user_email,
    priority = EXCLUDED.priority,
    serialization_key = EXCLUDED.serialization_key,
    seen_at = CURRENT_TIMESTAMP,
    gone_at = NULL

-- name: outcomes
-- Outcomes of the imported jobs of a source, in the order of their ids after `after`; withdrawn jobs are left out.
SELECT
    known.job_id,
    CASE
        WHEN snooze.id IS NULL THEN
            COALESCE(
                (SELECT archived.outcome FROM email_snoozes_archive AS archived WHERE archived.id = known.snooze_id),
                'erased'
            )
        WHEN its.state = 'case' THEN 'retired'
        WHEN its.state IN ('sent', 'cancelled', 'paused') THEN its.state
        WHEN its.state IN ('held', 'leaving') THEN 'being sent'
        ELSE 'waiting'
    END AS outcome,
    COALESCE(snooze_promise(snooze), known.due_at) AS due_at
FROM imported_jobs AS known
LEFT JOIN email_snoozes AS snooze ON snooze.id = known.snooze_id
CROSS JOIN LATERAL snooze_state(snooze, :known_schema) AS its
WHERE known.source = :source
  AND known.withdrawn_at IS NULL
  AND known.job_id > :after
ORDER BY known.job_id
LIMIT :limit

-- name: record_sends
-- Enter sends of the old scheduler, given as a JSON array, each at the nearest due time of its job. Returns the sends
-- of unknown jobs.
WITH nearest AS MATERIALIZED (
    SELECT given.job_id, given.sent_at, job.due_at
    FROM jsonb_to_recordset(CAST(:sends AS jsonb)) AS given (job_id TEXT, sent_at TIMESTAMPTZ)
    LEFT JOIN LATERAL (
        SELECT due_at
        FROM shadow_jobs
        WHERE source = :source
          AND job_id = given.job_id
        ORDER BY abs(EXTRACT(EPOCH FROM due_at - given.sent_at)), due_at
        LIMIT 1
    ) AS job ON TRUE
),
changed AS (
    UPDATE shadow_jobs AS job
    SET sent_at = job.sent_at || sends.sent_at
    FROM (
        SELECT job_id, due_at, array_agg(sent_at ORDER BY sent_at) AS sent_at
        FROM nearest
        WHERE due_at IS NOT NULL
        GROUP BY job_id, due_at
    ) AS sends
    WHERE job.source = :source
      AND job.job_id = sends.job_id
      AND job.due_at = sends.due_at
)
SELECT job_id, sent_at
FROM nearest
WHERE due_at IS NULL
ORDER BY sent_at, job_id

-- name: send_in_shadow
-- Note when a worker would send due jobs, a batch at a time: larger priorities first, then by time, and only one job of
-- each key at a time. Nothing is sent.
WITH due AS MATERIALIZED (
    SELECT source, job_id, due_at, row_number() OVER (ORDER BY priority DESC, due_at, job_id) AS number
    FROM (
        SELECT
            source, job_id, due_at, priority, serialization_key,
            row_number() OVER (PARTITION BY serialization_key ORDER BY due_at, job_id) AS place
        FROM shadow_jobs
        WHERE source = :source
          AND would_send_at IS NULL
          AND gone_at IS NULL
          AND due_at <= CURRENT_TIMESTAMP
    ) AS waiting
    WHERE serialization_key IS NULL
       OR place = 1
    ORDER BY priority DESC, due_at, job_id
    LIMIT :batch_size
)
UPDATE shadow_jobs AS job
-- In the order of the batch, whatever the order in which the planner has rows updated.
SET would_send_at = statement_timestamp() + due.number * INTERVAL '1 microsecond'
FROM due
WHERE job.source = due.source
  AND job.job_id = due.job_id
  AND job.due_at = due.due_at
RETURNING job.job_id

-- name: withdraw
-- Note that these imported jobs are left to their source, so that another import may bring them again.
UPDATE imported_jobs
SET withdrawn_at = CURRENT_TIMESTAMP
WHERE source = :source
  AND job_id = ANY(:job_ids)
