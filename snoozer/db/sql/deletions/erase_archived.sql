-- Erase archived snoozes of a person with their sends and events, up to batch_size.
WITH doomed AS MATERIALIZED (
    SELECT id, finished_at
    FROM email_snoozes_archive
    WHERE user_email = :user_email
    ORDER BY id
    LIMIT :batch_size
),
sends AS (
    DELETE FROM reminder_sends_archive AS send
    USING doomed
    WHERE send.snooze_id = doomed.id
),
events AS (
    DELETE FROM snooze_events AS event
    USING doomed
    WHERE event.snooze_id = doomed.id
)
DELETE FROM email_snoozes_archive AS snooze
USING doomed
WHERE snooze.id = doomed.id
  AND snooze.finished_at = doomed.finished_at
RETURNING snooze.id
