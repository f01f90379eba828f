"""A person's day: when they work, and when nothing is to come; what was due then comes at the end of that.

Revision ID: 0037
Revises: 0036
"""

from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None

# What a person chose, and what the rule in snoozer/domain/day_shape.py makes of it in the account's zone: the rest that
# lasts or comes next, which is right until `known_until` and computed anew from `refresh_at` on.
# A shape that `changed` may have other plans for what was deferred.
SHAPES = """
CREATE TABLE day_shapes (
    account_id BIGINT CONSTRAINT pk_day_shapes PRIMARY KEY
        CONSTRAINT fk_day_shapes_account REFERENCES accounts (id) ON DELETE CASCADE,
    working_days SMALLINT[] NOT NULL DEFAULT '{1,2,3,4,5}',
    work_from TIME NOT NULL DEFAULT '09:00',
    work_until TIME NOT NULL DEFAULT '17:00',
    quiet_from TIME,
    quiet_until TIME,
    quiet_until_off TIME,
    rests_on_days_off BOOLEAN NOT NULL DEFAULT FALSE,
    away_from DATE,
    back_on DATE,
    rest_from TIMESTAMPTZ,
    rest_until TIMESTAMPTZ,
    rest_reason TEXT,
    known_until TIMESTAMPTZ NOT NULL DEFAULT now(),
    refresh_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    changed BOOLEAN NOT NULL DEFAULT TRUE,
    updated_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    CONSTRAINT ck_day_shapes_working_days CHECK (
        working_days <@ ARRAY[1, 2, 3, 4, 5, 6, 7]::smallint[] AND cardinality(working_days) >= 1
    ),
    CONSTRAINT ck_day_shapes_work CHECK (work_from < work_until),
    CONSTRAINT ck_day_shapes_quiet_hours CHECK (
        num_nulls(quiet_from, quiet_until) IN (0, 2)
        AND (quiet_from <> quiet_until) IS NOT FALSE
        AND (quiet_until_off IS NULL OR (quiet_from IS NOT NULL AND quiet_until_off <> quiet_from))
    ),
    CONSTRAINT ck_day_shapes_vacation CHECK (
        num_nulls(away_from, back_on) IN (0, 2)
        AND (back_on > away_from AND back_on - away_from <= 366) IS NOT FALSE
    ),
    CONSTRAINT ck_day_shapes_rest CHECK (
        num_nulls(rest_from, rest_until, rest_reason) IN (0, 3)
        AND (rest_from < rest_until) IS NOT FALSE
        AND rest_reason IN ('quiet', 'day off', 'vacation')
    )
);
CREATE INDEX ix_day_shapes_refresh ON day_shapes (refresh_at);
CREATE FUNCTION accounts_move_day() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    UPDATE day_shapes
    SET known_until = to_timestamp(0),
        refresh_at = to_timestamp(0),
        changed = TRUE
    WHERE account_id = NEW.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER accounts_move_day
    AFTER UPDATE ON accounts
    FOR EACH ROW
    WHEN (NEW.zone <> OLD.zone)
    EXECUTE FUNCTION accounts_move_day();
"""

# `deferred_until` is the end of the rest to which `remind_at` was moved, and `deferred_by` its reason. A snooze
# `at_any_hour` comes when it was promised.
SNOOZES = """
ALTER TABLE email_snoozes
    ADD COLUMN deferred_until TIMESTAMPTZ,
    ADD COLUMN deferred_by TEXT,
    ADD COLUMN at_any_hour BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE email_snoozes_archive
    ADD COLUMN deferred_until TIMESTAMPTZ,
    ADD COLUMN deferred_by TEXT,
    ADD COLUMN at_any_hour BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE email_snoozes_archive ALTER COLUMN at_any_hour DROP DEFAULT;
ALTER TABLE email_snoozes
    ADD CONSTRAINT ck_email_snoozes_deferral_is_whole
        CHECK (num_nulls(deferred_until, deferred_by) IN (0, 2)) NOT VALID;
ALTER TABLE email_snoozes VALIDATE CONSTRAINT ck_email_snoozes_deferral_is_whole;
"""

# The promise stays in `returns_at`, by which the ledger knows the return. A new promise is not deferred.
MESSAGES = """
ALTER TABLE kept_messages ADD COLUMN deferred_until TIMESTAMPTZ;
ALTER TABLE mailbox_messages ADD COLUMN deferred_until TIMESTAMPTZ;
DROP INDEX ix_kept_messages_returns;
CREATE INDEX ix_kept_messages_returns ON kept_messages (GREATEST(returns_at, deferred_until))
    WHERE returns_at IS NOT NULL;
DROP INDEX ix_mailbox_messages_returns;
CREATE INDEX ix_mailbox_messages_returns ON mailbox_messages (GREATEST(returns_at, deferred_until))
    WHERE returns_at IS NOT NULL;
CREATE FUNCTION messages_forget_deferral() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    NEW.deferred_until := NULL;
    RETURN NEW;
END
$$;
CREATE TRIGGER kept_messages_forget_deferral
    BEFORE UPDATE ON kept_messages
    FOR EACH ROW
    WHEN (OLD.deferred_until IS NOT NULL AND NEW.returns_at IS DISTINCT FROM OLD.returns_at)
    EXECUTE FUNCTION messages_forget_deferral();
CREATE TRIGGER mailbox_messages_forget_deferral
    BEFORE UPDATE ON mailbox_messages
    FOR EACH ROW
    WHEN (OLD.deferred_until IS NOT NULL AND NEW.returns_at IS DISTINCT FROM OLD.returns_at)
    EXECUTE FUNCTION messages_forget_deferral();
"""

# The rest of its owner in which a promise falls now, or fell before; none where it is not to be deferred. Where the
# rests are not known for now, it is over at this moment, and has no reason: it is to be asked for again once they are.
# What was promised before a rest and is some moments late is not deferred by it.
DEFERRAL = """
CREATE FUNCTION snooze_deferral(
    person TEXT, snooze BIGINT, promise TIMESTAMPTZ, OUT until TIMESTAMPTZ, OUT reason TEXT
)
LANGUAGE plpgsql STABLE
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
    IF NOT FOUND OR (SELECT at_any_hour FROM email_snoozes WHERE id = snooze) THEN
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
"""

RETURN_ALONE = """
CREATE OR REPLACE FUNCTION snooze_return_alone(person TEXT, message TEXT, promise TIMESTAMPTZ) RETURNS TEXT
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    entry RECORD;
BEGIN
    SELECT its.returns_at, {deferred_until} AS deferred_until, mailbox.state, mailbox.problem
    INTO entry
    FROM mailbox_messages AS its
    JOIN mailboxes AS mailbox ON mailbox.id = its.mailbox_id
    WHERE its.user_email = person
      AND its.message_id = message
      AND mailbox.brings_back = 'return';
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF EXISTS (
        SELECT 1
        FROM reminder_sends
        WHERE user_email = person
          AND message_id = message
          AND scheduled_for = promise
          AND channel = 'mailbox'
    ) THEN
        RETURN 'returned';
    END IF;
    IF entry.returns_at = promise
        AND entry.state = 'active'
        AND entry.problem IS NULL
        AND GREATEST(promise, entry.deferred_until, snooze_server_met()) > clock_timestamp() - INTERVAL '15 minutes'
    THEN
        RETURN 'awaited';
    END IF;
    RETURN NULL;
END
$$;
"""

INVARIANT = """
CREATE OR REPLACE VIEW invariant_messages_return AS
SELECT
    snooze_id,
    NULL::bigint AS send_id,
    GREATEST({due}, snooze_server_met()) AS since,
    'its message is not back in the inbox'::text AS what
FROM kept_messages
WHERE {due} <= CURRENT_TIMESTAMP
  AND returns_at IS NOT NULL
  AND GREATEST({due}, snooze_server_met())
      < clock_timestamp() - snooze_term('sweep_seconds', 5) - INTERVAL '10 seconds';
"""

DOWN = """
DROP FUNCTION snooze_deferral(TEXT, BIGINT, TIMESTAMPTZ);
DROP TRIGGER mailbox_messages_forget_deferral ON mailbox_messages;
DROP TRIGGER kept_messages_forget_deferral ON kept_messages;
DROP FUNCTION messages_forget_deferral();
ALTER TABLE mailbox_messages DROP COLUMN deferred_until;
ALTER TABLE kept_messages DROP COLUMN deferred_until;
CREATE INDEX ix_mailbox_messages_returns ON mailbox_messages (returns_at) WHERE returns_at IS NOT NULL;
CREATE INDEX ix_kept_messages_returns ON kept_messages (returns_at) WHERE returns_at IS NOT NULL;
ALTER TABLE email_snoozes
    DROP CONSTRAINT ck_email_snoozes_deferral_is_whole,
    DROP COLUMN at_any_hour,
    DROP COLUMN deferred_by,
    DROP COLUMN deferred_until;
ALTER TABLE email_snoozes_archive
    DROP COLUMN at_any_hour,
    DROP COLUMN deferred_by,
    DROP COLUMN deferred_until;
DROP TRIGGER accounts_move_day ON accounts;
DROP FUNCTION accounts_move_day();
DROP TABLE day_shapes;
"""


def upgrade() -> None:
    op.execute(SHAPES)
    op.execute(SNOOZES)
    op.execute(MESSAGES)
    op.execute(DEFERRAL)
    op.execute(RETURN_ALONE.format(deferred_until="its.deferred_until"))
    op.execute(INVARIANT.format(due="GREATEST(returns_at, deferred_until)"))


def downgrade() -> None:
    op.execute(INVARIANT.format(due="returns_at"))
    op.execute(RETURN_ALONE.format(deferred_until="its.returns_at"))
    op.execute(DOWN)
