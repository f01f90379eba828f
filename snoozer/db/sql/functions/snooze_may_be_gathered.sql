-- Whether a deferred snooze may come in a digest with others.
CREATE OR REPLACE FUNCTION snooze_may_be_gathered(person text, snooze bigint) RETURNS boolean
    LANGUAGE plpgsql
    STABLE
    AS $$
BEGIN
    RETURN EXISTS (
        SELECT 1
        FROM email_snoozes AS waiting
        JOIN accounts AS account ON account.email = lower(person)
        JOIN day_shapes AS day ON day.account_id = account.id
        WHERE waiting.id = snooze
          AND NOT waiting.at_any_hour
          AND waiting.recurrence ->> 'kind' IS DISTINCT FROM 'someday'
          AND waiting.deferred_until > day.gathered_until
          AND waiting.deferred_until <= clock_timestamp()
          AND day.gathers_over IS NOT NULL
    );
END
$$;
