-- name: add_rows
-- Keep rows that were read of the file, given as a JSON array of objects with the names of the columns.
INSERT INTO import_rows (
    import_id, line, verdict, reason, state, message_id, subject, sender_email, note, promised, recurrence, wall_time,
    zone, time_kind, options, made_at, finished_at, sends
)
SELECT
    :import_id, line, CASE WHEN reason IS NULL THEN 'new' ELSE 'refused' END, reason, state, message_id, subject,
    sender_email, note, promised, NULLIF(recurrence, 'null'), wall_time, zone, time_kind, options, made_at, finished_at,
    sends
FROM jsonb_populate_recordset(CAST(NULL AS import_rows), CAST(:rows AS jsonb))

-- name: begin
-- Begin an import of this person, who has none.
INSERT INTO imports (account_id, presets)
VALUES (:account_id, CAST(:presets AS jsonb))
RETURNING id

-- name: discard
-- Forget this person's import and its rows.
DELETE FROM imports
WHERE account_id = :account_id
RETURNING id

-- name: judge
-- Compare an import's rows with the snoozes of its owner: a snooze is the same if message and creation time are,
-- whatever its outcome; a waiting row is changed if the live snooze of its message differs.
WITH mine AS MATERIALIZED (
    SELECT message_id, created_at, inactive, snooze_promise(snooze) AS promised, note, recurrence
    FROM email_snoozes AS snooze
    WHERE user_email = :user_email
    UNION ALL
    SELECT message_id, created_at, TRUE, COALESCE(scheduled_for, remind_at), note, recurrence
    FROM email_snoozes_archive
    WHERE user_email = :user_email
),
judged AS (
    SELECT
        read.line,
        CASE
            WHEN bool_or(
                NOT mine.inactive
                AND read.state = 'waiting'
                AND read.promised >= CURRENT_TIMESTAMP
                AND (mine.promised, mine.note, mine.recurrence)
                    IS DISTINCT FROM (read.promised, read.note, read.recurrence)
            ) THEN 'changed'
            WHEN bool_or(mine.created_at = read.made_at OR (NOT mine.inactive AND read.state = 'waiting')) THEN 'same'
        END AS verdict
    FROM import_rows AS read
    JOIN mine ON mine.message_id = read.message_id
    WHERE read.import_id = :import_id
      AND read.verdict <> 'refused'
    GROUP BY read.line
)
UPDATE import_rows AS read
SET verdict = judged.verdict
FROM judged
WHERE read.import_id = :import_id
  AND read.line = judged.line
  AND judged.verdict IS NOT NULL

-- name: lock
-- The import of a person whose account is open. Import and account are locked, and not deleted, until the transaction
-- ends.
SELECT imports.id, imports.presets
FROM imports
JOIN accounts ON accounts.id = imports.account_id
WHERE imports.account_id = :account_id
  AND accounts.disabled_at IS NULL
FOR UPDATE OF imports
FOR SHARE OF accounts

-- name: months
-- The months of an import's history, and this one.
SELECT DISTINCT date_trunc('month', COALESCE(finished_at, CURRENT_TIMESTAMP) AT TIME ZONE 'UTC')::date AS month
FROM import_rows
WHERE import_id = :import_id
  AND verdict = 'new'
UNION
SELECT date_trunc('month', CURRENT_TIMESTAMP AT TIME ZONE 'UTC')::date
ORDER BY month

-- name: prune
-- Forget imports that were not confirmed within a day, with their rows.
DELETE FROM imports
WHERE id = ANY(ARRAY(
    SELECT id FROM imports WHERE created_at < CURRENT_TIMESTAMP - INTERVAL '1 day' LIMIT :batch_size
))
RETURNING id

-- name: save_finished
-- Enter an import's history into the archive, with its sends; with `with_past` also snoozes that should have come back
-- since, as cancelled now. No one is notified: the queue does not see it. The months must exist. Snoozes that the owner
-- has already are left out, so that confirming an import twice adds nothing.
WITH saved AS (
    INSERT INTO email_snoozes_archive
    SELECT archived.*
    FROM import_rows AS read
    CROSS JOIN LATERAL jsonb_populate_record(
        CAST(NULL AS email_snoozes_archive),
        to_jsonb(read) || read.options || jsonb_build_object(
            'id', nextval('email_snoozes_id_seq'), 'user_email', CAST(:user_email AS text),
            'bucket', snooze_bucket(:user_email), 'remind_at', read.promised, 'scheduled_for', read.promised,
            'attempts', 0, 'max_attempts', 5, 'priority', 0, 'crash_count', 0, 'behind_key', FALSE,
            'schema_version', 1, 'created_at', read.made_at, 'updated_at', CURRENT_TIMESTAMP, 'inactive', TRUE,
            'outcome', CASE read.state WHEN 'sent' THEN 'sent' ELSE 'cancelled' END,
            'finished_at', COALESCE(read.finished_at, CURRENT_TIMESTAMP)
        )
    ) AS archived
    WHERE read.import_id = :import_id
      AND read.verdict = 'new'
      AND (
          read.state IN ('sent', 'cancelled')
          OR (:with_past AND read.state = 'waiting' AND read.promised <= CURRENT_TIMESTAMP)
      )
    RETURNING id, message_id, created_at, finished_at, zone, bucket
),
sent AS (
    INSERT INTO reminder_sends_archive (
        finished_at, id, snooze_id, user_email, message_id, scheduled_for, channel, bucket, state, zone, resends, late,
        reserved_at, sent_at, resolution, resolved_by, resolved_at, looks, refusals
    )
    SELECT
        saved.finished_at, nextval('reminder_sends_id_seq'), saved.id, :user_email, saved.message_id,
        CAST(pair ->> 0 AS timestamptz), 'email', saved.bucket, 'sent', COALESCE(saved.zone, 'UTC'), 0, FALSE,
        CAST(pair ->> 0 AS timestamptz), CAST(pair ->> 1 AS timestamptz), 'imported', 'import', CURRENT_TIMESTAMP, 0, 0
    FROM saved
    JOIN import_rows AS read
        ON read.import_id = :import_id AND read.message_id = saved.message_id AND read.made_at = saved.created_at
    CROSS JOIN LATERAL jsonb_array_elements(read.sends) AS pair
)
SELECT id FROM saved

-- name: save_sent
-- Enter the promises kept before the import by imported snoozes that still wait. A promise at the present promise or
-- later is left out: it would stand for a reminder that has not been sent.
INSERT INTO reminder_sends (
    snooze_id, user_email, message_id, scheduled_for, bucket, reminder_message_id, state, claim_token, zone,
    reserved_at, sent_at, resolution, resolved_by, resolved_at
)
SELECT
    snooze.id, snooze.user_email, snooze.message_id, CAST(pair ->> 0 AS timestamptz), snooze.bucket,
    '<' || gen_random_uuid() || '@imported.snoozer.invalid>', 'sent', gen_random_uuid(), COALESCE(snooze.zone, 'UTC'),
    CAST(pair ->> 0 AS timestamptz), CAST(pair ->> 1 AS timestamptz), 'imported', 'import', CURRENT_TIMESTAMP
FROM email_snoozes AS snooze
JOIN import_rows AS read ON read.import_id = :import_id AND read.message_id = snooze.message_id
CROSS JOIN LATERAL jsonb_array_elements(read.sends) AS pair
WHERE snooze.id = ANY(:ids)
  AND read.made_at = snooze.created_at
  AND CAST(pair ->> 0 AS timestamptz) < LEAST(snooze.remind_at, CURRENT_TIMESTAMP)
ON CONFLICT DO NOTHING

-- name: waiting
-- A page of an import's rows that still wait or are paused, as `queue/enqueue_many` takes them, with their creation
-- times, by which a second import recognises them; and whether their messages are kept here. With `with_past` also rows
-- that should have come back since: they come back now, and recurring ones continue after that.
SELECT
    read.line,
    (to_jsonb(read) - 'sends') || read.options || jsonb_build_object(
        'remind_at',
        CASE WHEN read.state = 'waiting' THEN GREATEST(read.promised, CURRENT_TIMESTAMP) ELSE read.promised END,
        'inactive', read.state = 'paused', 'created_at', read.made_at
    ) AS terms,
    EXISTS (
        SELECT 1
        FROM messages AS kept
        WHERE kept.user_email = :user_email
          AND kept.message_id = read.message_id
          AND kept.is_kept
    ) AS is_kept
FROM import_rows AS read
WHERE read.import_id = :import_id
  AND read.verdict = 'new'
  AND read.state IN ('waiting', 'paused')
  AND (:with_past OR read.state = 'paused' OR read.promised > CURRENT_TIMESTAMP)
  AND read.line > :after
ORDER BY read.line
LIMIT :batch_size
