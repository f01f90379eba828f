"""The queue: one row is one message put away.

Revision ID: 0001
Revises:
"""

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

BUCKET = """
CREATE FUNCTION snooze_bucket(user_email TEXT) RETURNS SMALLINT
LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE
AS $$ SELECT (('x' || substr(md5(user_email), 1, 8))::bit(32)::bigint % 1024)::smallint $$
"""

TABLE = """
CREATE TABLE email_snoozes (
    id BIGSERIAL CONSTRAINT pk_email_snoozes PRIMARY KEY,
    user_email TEXT NOT NULL,
    message_id TEXT NOT NULL,
    subject TEXT,
    sender_email TEXT,
    remind_at TIMESTAMPTZ NOT NULL,
    snooze_duration_hours INT,
    claimed_at TIMESTAMPTZ,
    claimed_by TEXT,
    claim_token UUID,
    attempts INT NOT NULL DEFAULT 0,
    max_attempts INT NOT NULL DEFAULT 5,
    inactive BOOLEAN NOT NULL DEFAULT FALSE,
    last_error TEXT,
    last_error_at TIMESTAMPTZ,
    created_at TIMESTAMPTZ NOT NULL DEFAULT NOW(),
    updated_at TIMESTAMPTZ NOT NULL DEFAULT NOW(),

    scheduled_for TIMESTAMPTZ,
    outcome TEXT,
    finished_at TIMESTAMPTZ,
    priority SMALLINT NOT NULL DEFAULT 0,
    crash_count INT NOT NULL DEFAULT 0,
    lease_expires_at TIMESTAMPTZ,
    bucket SMALLINT NOT NULL,

    note TEXT,
    recurrence JSONB,
    reply_policy TEXT,
    mailbox TEXT,
    origin_folder TEXT,
    wall_time TIMESTAMP,
    zone TEXT,
    time_kind TEXT,
    traceparent TEXT,
    schema_version SMALLINT NOT NULL DEFAULT 1,

    CONSTRAINT ck_email_snoozes_claim_is_whole
        CHECK (num_nulls(claimed_at, claimed_by, claim_token, lease_expires_at) IN (0, 4)),
    CONSTRAINT ck_email_snoozes_finished_is_inactive
        CHECK (outcome IS NULL OR inactive),
    CONSTRAINT ck_email_snoozes_inactive_is_unclaimed
        CHECK (NOT inactive OR claimed_at IS NULL),
    CONSTRAINT ck_email_snoozes_outcome
        CHECK (outcome IN ('sent', 'cancelled', 'retired')),
    CONSTRAINT ck_email_snoozes_outcome_is_dated
        CHECK ((outcome IS NULL) = (finished_at IS NULL)),
    CONSTRAINT ck_email_snoozes_attempts
        CHECK (attempts >= 0 AND max_attempts >= 1 AND crash_count >= 0),
    CONSTRAINT ck_email_snoozes_remind_at_is_finite
        CHECK (isfinite(remind_at)),
    CONSTRAINT ck_email_snoozes_names_someone
        CHECK (user_email <> '' AND message_id <> ''),
    CONSTRAINT ck_email_snoozes_time_kind
        CHECK (time_kind IN ('elapsed', 'wall'))
)
"""

INDEXES = """
CREATE UNIQUE INDEX uq_email_snoozes_live ON email_snoozes (user_email, message_id) WHERE NOT inactive;
CREATE INDEX ix_email_snoozes_due ON email_snoozes (remind_at, id) WHERE NOT inactive AND claimed_at IS NULL;
CREATE INDEX ix_email_snoozes_claimed_by ON email_snoozes (claimed_by) WHERE claimed_at IS NOT NULL;
CREATE INDEX ix_email_snoozes_person ON email_snoozes (user_email, remind_at, id);
CREATE INDEX ix_email_snoozes_cases ON email_snoozes (finished_at, id) WHERE outcome = 'retired';
"""

FILL = """
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
"""


def upgrade() -> None:
    op.execute(BUCKET)
    op.execute(TABLE)
    op.execute(INDEXES)
    op.execute(FILL)


def downgrade() -> None:
    op.execute("DROP TABLE email_snoozes")
    op.execute("DROP FUNCTION email_snoozes_fill_bucket()")
    op.execute("DROP FUNCTION snooze_bucket(TEXT)")
