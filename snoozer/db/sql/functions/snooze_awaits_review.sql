-- Whether the reminder of a snooze without a date waits to be gathered with the others that its person reviews. A snooze
-- that failed or is delivered alone is not gathered.
CREATE OR REPLACE FUNCTION snooze_awaits_review(snooze email_snoozes) RETURNS boolean
    LANGUAGE sql
    STABLE
    AS $$
    SELECT snooze.recurrence ->> 'kind' = 'someday'
        AND snooze.attempts = 0
        AND snooze.crash_count = 0
        AND snooze.serialization_key IS NULL
        AND (
            SELECT entry.id
            FROM reminder_sends AS entry
            WHERE entry.user_email = snooze.user_email
              AND entry.message_id = snooze.message_id
              AND entry.scheduled_for = snooze_promise(snooze)
              AND entry.channel = 'email'
            LIMIT 1
        ) IS NULL
$$;
