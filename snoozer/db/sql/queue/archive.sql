-- Move finished snoozes and their sends to the archive in one statement: a row is in one place, never in both or
-- neither. A snooze stays while one of its sends may still change (in flight, uncertain, or locked by another
-- transaction), and until its message has returned.
WITH finished AS MATERIALIZED (
    SELECT id, finished_at
    FROM email_snoozes
    WHERE id = ANY(:ids)
      AND outcome IN ('sent', 'cancelled')
      AND finished_at < clock_timestamp() - :older_than
      AND NOT EXISTS (
          SELECT 1
          FROM messages AS message
          WHERE message.snooze_id = email_snoozes.id
            AND message.returns_at IS NOT NULL
      )
    ORDER BY finished_at, id
    FOR UPDATE SKIP LOCKED
),
locked_sends AS MATERIALIZED (
    SELECT send.id, send.snooze_id, send.state
    FROM reminder_sends AS send
    JOIN finished ON finished.id = send.snooze_id
    ORDER BY send.id
    FOR UPDATE OF send SKIP LOCKED
),
moving AS MATERIALIZED (
    SELECT finished.id, finished.finished_at
    FROM finished
    WHERE NOT EXISTS (
        SELECT 1
        FROM reminder_sends AS send
        WHERE send.snooze_id = finished.id
          AND NOT EXISTS (
              SELECT 1
              FROM locked_sends
              WHERE locked_sends.id = send.id
                AND locked_sends.state NOT IN ('sending', 'uncertain')
          )
    )
),
deleted_sends AS (
    DELETE FROM reminder_sends AS send
    USING moving
    WHERE send.snooze_id = moving.id
    RETURNING moving.finished_at, send.*
),
deleted_snoozes AS (
    DELETE FROM email_snoozes AS snooze
    USING moving
    WHERE snooze.id = moving.id
    RETURNING snooze.*
),
archived_sends AS (
    INSERT INTO reminder_sends_archive
    SELECT * FROM deleted_sends
)
INSERT INTO email_snoozes_archive
SELECT * FROM deleted_snoozes
RETURNING id
