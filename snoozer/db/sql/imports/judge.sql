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
