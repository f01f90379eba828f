"""A statement that sets `remind_at` makes a new promise; triggers reset everything that belonged to the old one.

Revision ID: 0072
Revises: 0071
"""

from alembic import op

revision = "0072"
down_revision = "0071"
branch_labels = None
depends_on = None

# A statement that moves `remind_at` and keeps the promise says so with `snooze_keeps('promise')` in its WHERE; one that
# makes a new promise and sets the time on the clock itself says `snooze_keeps('clock')`. The mark is the time of the
# statement, so it ends with it.
KEEPS = """
CREATE FUNCTION snooze_keeps(what text) RETURNS boolean
LANGUAGE sql VOLATILE
AS $$
    SELECT set_config('snoozer.keeps', concat_ws(' ', what, CAST(statement_timestamp() AS text)), TRUE) <> ''
$$;
CREATE FUNCTION snooze_is_kept(what text) RETURNS boolean
LANGUAGE sql STABLE
AS $$
    SELECT COALESCE(
        current_setting('snoozer.keeps', TRUE) = concat_ws(' ', what, CAST(statement_timestamp() AS text)), FALSE
    )
$$;
"""

# A statement that ends the claim keeps the promise too, unless it clears `scheduled_for`: that is a worker's retry.
PROMISE = """
CREATE FUNCTION email_snoozes_promise() RETURNS trigger
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
CREATE TRIGGER email_snoozes_promise
BEFORE UPDATE OF remind_at, inactive, outcome, claimed_at, claimed_by, claim_token, lease_expires_at ON email_snoozes
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
DROP TRIGGER email_snoozes_leave_pause ON email_snoozes;
DROP FUNCTION email_snoozes_leave_pause();
"""

LEAVE_PAUSE = """
CREATE FUNCTION email_snoozes_leave_pause() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    NEW.paused_by := NULL;
    RETURN NEW;
END
$$;
CREATE TRIGGER email_snoozes_leave_pause
BEFORE UPDATE OF inactive, outcome ON email_snoozes
FOR EACH ROW
WHEN (NEW.paused_by IS NOT NULL AND (NOT NEW.inactive OR NEW.outcome IS NOT NULL))
EXECUTE FUNCTION email_snoozes_leave_pause();
"""

# One function for what a new row is given and refused; each was a trigger of its own.
ENTER = """
CREATE FUNCTION email_snoozes_enter() RETURNS trigger
LANGUAGE plpgsql
AS $$
DECLARE
    refused TEXT;
    because TEXT;
BEGIN
    NEW.bucket := COALESCE(NEW.bucket, snooze_bucket(NEW.user_email));
    IF octet_length(NEW.user_email) > 254
        OR octet_length(NEW.message_id) > 998
        OR octet_length(NEW.serialization_key) > 998
    THEN
        refused := 'ck_email_snoozes_texts_fit';
        because := format(
            'Octets: user_email %s (254 at most), message_id %s (998), serialization_key %s (998).',
            octet_length(NEW.user_email), octet_length(NEW.message_id), COALESCE(octet_length(NEW.serialization_key), 0)
        );
    ELSIF NEW.wall_time < '1969-12-31'
        OR NEW.wall_time > '9999-01-02'
        OR jsonb_typeof(NEW.recurrence) NOT IN ('object', 'null')
    THEN
        refused := 'ck_email_snoozes_make_sense';
        because := 'wall_time lies between 1970 and 9999, and recurrence is a JSON object or null.';
    END IF;
    IF refused IS NOT NULL THEN
        RAISE EXCEPTION 'new row for relation "email_snoozes" violates check constraint "%"', refused
            USING ERRCODE = 'check_violation',
                SCHEMA = TG_TABLE_SCHEMA,
                TABLE = TG_TABLE_NAME,
                CONSTRAINT = refused,
                DETAIL = because;
    END IF;
    IF NEW.serialization_key IS NOT NULL AND NOT NEW.inactive AND NEW.claimed_at IS NULL THEN
        NEW.behind_key := EXISTS (
            SELECT 1
            FROM email_snoozes AS ahead
            WHERE ahead.serialization_key = NEW.serialization_key
              AND NOT ahead.inactive
              AND ahead.claimed_at IS NULL
              AND ahead.attempts < ahead.max_attempts
              AND (ahead.remind_at, ahead.id) < (NEW.remind_at, NEW.id)
            OFFSET 3
        );
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER email_snoozes_enter
BEFORE INSERT ON email_snoozes FOR EACH ROW EXECUTE FUNCTION email_snoozes_enter();
DROP TRIGGER email_snoozes_fill_bucket ON email_snoozes;
DROP TRIGGER email_snoozes_make_sense ON email_snoozes;
DROP TRIGGER email_snoozes_texts_fit ON email_snoozes;
DROP TRIGGER email_snoozes_wait_behind_key ON email_snoozes;
DROP FUNCTION email_snoozes_fill_bucket();
DROP FUNCTION email_snoozes_refuse_nonsense();
DROP FUNCTION email_snoozes_refuse_long_texts();
DROP FUNCTION email_snoozes_wait_behind_key();
"""

FORMER_ENTER = """
CREATE FUNCTION email_snoozes_fill_bucket() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    NEW.bucket := COALESCE(NEW.bucket, snooze_bucket(NEW.user_email));
    RETURN NEW;
END
$$;
CREATE TRIGGER email_snoozes_fill_bucket
    BEFORE INSERT ON email_snoozes
    FOR EACH ROW EXECUTE FUNCTION email_snoozes_fill_bucket();

CREATE FUNCTION email_snoozes_refuse_long_texts() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    RAISE EXCEPTION 'new row for relation "email_snoozes" violates check constraint "ck_email_snoozes_texts_fit"'
        USING ERRCODE = 'check_violation',
            SCHEMA = TG_TABLE_SCHEMA,
            TABLE = TG_TABLE_NAME,
            CONSTRAINT = 'ck_email_snoozes_texts_fit',
            DETAIL = format(
                'Octets: user_email %s (254 at most), message_id %s (998), serialization_key %s (998).',
                octet_length(NEW.user_email),
                octet_length(NEW.message_id),
                COALESCE(octet_length(NEW.serialization_key), 0)
            );
END
$$;

CREATE TRIGGER email_snoozes_texts_fit
    BEFORE INSERT ON email_snoozes
    FOR EACH ROW
    WHEN (
        octet_length(NEW.user_email) > 254
        OR octet_length(NEW.message_id) > 998
        OR octet_length(NEW.serialization_key) > 998
    )
    EXECUTE FUNCTION email_snoozes_refuse_long_texts();

CREATE FUNCTION email_snoozes_refuse_nonsense() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    RAISE EXCEPTION 'new row for relation "email_snoozes" violates check constraint "ck_email_snoozes_make_sense"'
        USING ERRCODE = 'check_violation',
            SCHEMA = TG_TABLE_SCHEMA,
            TABLE = TG_TABLE_NAME,
            CONSTRAINT = 'ck_email_snoozes_make_sense',
            DETAIL = 'wall_time lies between 1970 and 9999, and recurrence is a JSON object or null.';
END
$$;

CREATE TRIGGER email_snoozes_make_sense
    BEFORE INSERT ON email_snoozes
    FOR EACH ROW
    WHEN (
        NEW.wall_time NOT BETWEEN '1969-12-31 00:00' AND '9999-01-02 00:00'
        OR jsonb_typeof(NEW.recurrence) NOT IN ('object', 'null')
    )
    EXECUTE FUNCTION email_snoozes_refuse_nonsense();

CREATE FUNCTION email_snoozes_wait_behind_key() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    NEW.behind_key := EXISTS (
        SELECT 1
        FROM email_snoozes AS ahead
        WHERE ahead.serialization_key = NEW.serialization_key
          AND NOT ahead.inactive
          AND ahead.claimed_at IS NULL
          AND ahead.attempts < ahead.max_attempts
          AND (ahead.remind_at, ahead.id) < (NEW.remind_at, NEW.id)
        OFFSET 3
    );
    RETURN NEW;
END
$$;

CREATE TRIGGER email_snoozes_wait_behind_key
    BEFORE INSERT ON email_snoozes
    FOR EACH ROW
    WHEN (NEW.serialization_key IS NOT NULL AND NOT NEW.inactive AND NEW.claimed_at IS NULL)
    EXECUTE FUNCTION email_snoozes_wait_behind_key();
"""


def upgrade() -> None:
    for part in (KEEPS, PROMISE, ENTER):
        op.execute(part)


def downgrade() -> None:
    op.execute(LEAVE_PAUSE)
    op.execute(FORMER_ENTER)
    for trigger in ("email_snoozes_promise", "email_snoozes_enter"):
        op.execute(f"DROP TRIGGER {trigger} ON email_snoozes")
        op.execute(f"DROP FUNCTION {trigger}()")
    op.execute("DROP FUNCTION snooze_is_kept(text)")
    op.execute("DROP FUNCTION snooze_keeps(text)")
