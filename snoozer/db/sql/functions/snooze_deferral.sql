-- Until when a rest of the person defers this promise, and why; NULL if nothing defers it. The present time if their
-- rests are not known.
CREATE OR REPLACE FUNCTION snooze_deferral(person text, snooze bigint, promise timestamp with time zone, OUT until timestamp with time zone, OUT reason text) RETURNS record
    LANGUAGE plpgsql
    STABLE
    AS $$
DECLARE
    shape day_shapes;
    present TIMESTAMPTZ := clock_timestamp();
BEGIN
    SELECT day.*
    INTO shape
    FROM accounts AS account
    JOIN day_shapes AS day ON day.account_id = account.id
    WHERE account.email = lower(person);
    IF NOT FOUND OR (SELECT at_any_hour FROM email_snoozes WHERE id = snooze)
    OR EXISTS (
        SELECT 1
        FROM snooze_events AS event
        WHERE event.snooze_id = snooze
          AND event.kind = 'back'
          AND CAST(event.detail ->> 'promise' AS timestamptz) = promise
    ) THEN
        RETURN;
    END IF;
    IF present >= shape.known_until THEN
        until := present;
    ELSIF present >= shape.rest_from
        AND present < shape.rest_until
        AND (promise >= shape.rest_from OR present >= shape.rest_from + INTERVAL '2 minutes')
    THEN
        until := shape.rest_until;
        reason := shape.rest_reason;
    END IF;
END
$$;
