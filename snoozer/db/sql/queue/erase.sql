-- Erase up to batch_size snoozes of a person with their sends and events. Left for later are rows that a worker holds,
-- and reminders handed to a mail server whose reply may still come: if uncertain, for an hour.
WITH doomed AS MATERIALIZED (
    SELECT id
    FROM email_snoozes
    WHERE user_email = :user_email
      AND claimed_at IS NULL
      AND NOT EXISTS (
          SELECT 1
          FROM reminder_sends AS send
          WHERE send.snooze_id = email_snoozes.id
            AND (
                send.state = 'sending'
                OR (send.state = 'uncertain' AND send.uncertain_at > clock_timestamp() - INTERVAL '1 hour')
            )
      )
    ORDER BY id
    LIMIT :batch_size
    FOR UPDATE SKIP LOCKED
),
locked_sends AS MATERIALIZED (
    SELECT send.id, send.snooze_id, send.state, send.uncertain_at
    FROM reminder_sends AS send
    JOIN doomed ON doomed.id = send.snooze_id
    ORDER BY send.id
    FOR UPDATE OF send SKIP LOCKED
),
erasing AS MATERIALIZED (
    SELECT doomed.id
    FROM doomed
    WHERE NOT EXISTS (
        SELECT 1
        FROM reminder_sends AS send
        WHERE send.snooze_id = doomed.id
          AND NOT EXISTS (
              SELECT 1
              FROM locked_sends
              WHERE locked_sends.id = send.id
                AND locked_sends.state <> 'sending'
          )
    )
),
sends AS (
    DELETE FROM reminder_sends AS send
    USING erasing
    WHERE send.snooze_id = erasing.id
),
events AS (
    DELETE FROM snooze_events AS event
    USING erasing
    WHERE event.snooze_id = erasing.id
)
DELETE FROM email_snoozes AS snooze
USING erasing
WHERE snooze.id = erasing.id
RETURNING snooze.id
