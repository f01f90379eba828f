-- Delete old events whose snooze is neither live nor archived any more.
-- Events are not archived with their snooze: they hold no personal data, and the page of an archived snooze reads
-- them.
WITH expired AS MATERIALIZED (
    SELECT event.id
    FROM snooze_events AS event
    WHERE event.at < date_trunc('month', CURRENT_TIMESTAMP) - :keep_months * INTERVAL '1 month'
      AND event.id BETWEEN :first_id AND :last_id
      AND NOT EXISTS (SELECT 1 FROM email_snoozes AS snooze WHERE snooze.id = event.snooze_id)
      AND NOT EXISTS (SELECT 1 FROM email_snoozes_archive AS snooze WHERE snooze.id = event.snooze_id)
    LIMIT :batch_size
)
DELETE FROM snooze_events AS event
USING expired
WHERE event.id = expired.id
RETURNING event.id
