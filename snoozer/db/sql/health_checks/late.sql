-- How many reminders are overdue by more than a minute (a thousand are counted), and the oldest promise of those. What
-- failed is tried again within a day.
SELECT count(*) AS late, min(promise) AS oldest
FROM (
    SELECT snooze_due_at(snooze) AS promise
    FROM email_snoozes AS snooze
    WHERE NOT inactive
      AND remind_at <= CURRENT_TIMESTAMP + INTERVAL '1 day'
      AND GREATEST(snooze_due_at(snooze), created_at) < clock_timestamp() - INTERVAL '1 minute'
    ORDER BY remind_at
    LIMIT 1000
) AS overdue
