-- Another remind_at is a new promise: reset what belonged to the old one. Keep the columns of a claim and a pause
-- whole.
CREATE OR REPLACE FUNCTION email_snoozes_promise() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    retries BOOLEAN := OLD.claim_token IS NOT NULL AND NEW.claim_token IS NULL AND NEW.scheduled_for IS NOT NULL;
    reopens BOOLEAN := OLD.outcome = 'retired' AND NOT NEW.inactive;
BEGIN
    IF reopens AND NEW.outcome = 'retired' THEN
        NEW.outcome := NULL;
        NEW.finished_at := NULL;
        NEW.behind_key := FALSE;
    END IF;
    IF NEW.remind_at <> OLD.remind_at
        AND NEW.remind_at <> COALESCE(OLD.scheduled_for, OLD.remind_at)
        AND NOT retries
        AND NOT snooze_is_kept('promise')
    THEN
        NEW.scheduled_for := NULL;
        NEW.attempts := 0;
        NEW.crash_count := 0;
        NEW.last_error := NULL;
        NEW.last_error_at := NULL;
        NEW.deferred_until := NULL;
        NEW.deferred_by := NULL;
        NEW.behind_key := FALSE;
        NEW.claim_token := NULL;
        NEW.updated_at := CURRENT_TIMESTAMP;
        IF NOT snooze_is_kept('clock') AND NEW.wall_time IS NOT DISTINCT FROM OLD.wall_time THEN
            NEW.wall_time := NULL;
            NEW.time_kind := CASE WHEN COALESCE(jsonb_typeof(NEW.recurrence), 'null') <> 'null' THEN NEW.time_kind END;
        END IF;
    END IF;
    IF NEW.inactive OR num_nulls(NEW.claimed_at, NEW.claimed_by, NEW.claim_token, NEW.lease_expires_at) > 0 THEN
        NEW.claimed_at := NULL;
        NEW.claimed_by := NULL;
        NEW.claim_token := NULL;
        NEW.lease_expires_at := NULL;
    END IF;
    IF NOT NEW.inactive OR NEW.outcome IS NOT NULL THEN
        NEW.paused_by := NULL;
    END IF;
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER email_snoozes_promise
    BEFORE UPDATE OF remind_at, inactive, outcome, claimed_at, claimed_by, claim_token, lease_expires_at
    ON email_snoozes
    FOR EACH ROW
    WHEN (
        (
            NEW.remind_at <> OLD.remind_at
            AND NOT (OLD.claim_token IS NOT NULL AND NEW.claim_token IS NULL AND NEW.scheduled_for IS NOT NULL)
        )
        OR (NEW.inactive AND NEW.claimed_at IS NOT NULL)
        OR (OLD.outcome = 'retired' AND NOT NEW.inactive)
        OR (NEW.paused_by IS NOT NULL AND (NOT NEW.inactive OR NEW.outcome IS NOT NULL))
        OR num_nulls(NEW.claimed_at, NEW.claimed_by, NEW.claim_token, NEW.lease_expires_at) IN (1, 2, 3)
    )
    EXECUTE FUNCTION email_snoozes_promise();
