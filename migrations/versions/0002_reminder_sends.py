"""The ledger: one row is one reminder for one promise, and what is known of its delivery.

Revision ID: 0002
Revises: 0001
"""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

TABLE = """
CREATE TABLE reminder_sends (
    id BIGSERIAL CONSTRAINT pk_reminder_sends PRIMARY KEY,
    snooze_id BIGINT NOT NULL CONSTRAINT fk_reminder_sends_snooze REFERENCES email_snoozes (id),
    user_email TEXT NOT NULL,
    message_id TEXT NOT NULL,
    scheduled_for TIMESTAMPTZ NOT NULL,
    channel TEXT NOT NULL DEFAULT 'email',
    bucket SMALLINT NOT NULL,
    reminder_message_id TEXT NOT NULL,
    state TEXT NOT NULL,
    claim_token UUID NOT NULL,
    subject TEXT,
    sender_email TEXT,
    note TEXT,
    zone TEXT NOT NULL,
    bytes_sha256 TEXT,
    smtp_code INT,
    enhanced_code TEXT,
    reply TEXT,
    queue_id TEXT,
    resends SMALLINT NOT NULL DEFAULT 0,
    late BOOLEAN NOT NULL DEFAULT FALSE,
    reserved_at TIMESTAMPTZ NOT NULL,
    dot_authorised_at TIMESTAMPTZ,
    uncertain_at TIMESTAMPTZ,
    sent_at TIMESTAMPTZ,
    resolution TEXT,
    resolved_by TEXT,
    resolved_at TIMESTAMPTZ,

    CONSTRAINT uq_reminder_sends_promise UNIQUE (user_email, message_id, scheduled_for, channel),
    CONSTRAINT uq_reminder_sends_reminder_message_id UNIQUE (reminder_message_id),
    CONSTRAINT ck_reminder_sends_state
        CHECK (state IN ('reserved', 'sending', 'sent', 'failed', 'uncertain')),
    CONSTRAINT ck_reminder_sends_channel
        CHECK (channel IN ('email')),
    CONSTRAINT ck_reminder_sends_sent_is_dated
        CHECK ((state = 'sent') = (sent_at IS NOT NULL)),
    CONSTRAINT ck_reminder_sends_sending_is_marked
        CHECK (state <> 'sending' OR (dot_authorised_at IS NOT NULL AND bytes_sha256 IS NOT NULL)),
    CONSTRAINT ck_reminder_sends_resolution_is_whole
        CHECK (num_nulls(resolution, resolved_by, resolved_at) IN (0, 3))
)
"""

INDEXES = """
CREATE INDEX ix_reminder_sends_snooze ON reminder_sends (snooze_id);
CREATE INDEX ix_reminder_sends_unsettled ON reminder_sends (state, dot_authorised_at)
    WHERE state IN ('sending', 'uncertain');
"""

# What the server said stays said: no statement, ours or a person's, takes `sent` back.
ABSORBING = """
CREATE FUNCTION reminder_sends_keep_sent() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    RAISE EXCEPTION 'reminder_sends %: a reminder that was sent stays sent', OLD.id
        USING ERRCODE = 'check_violation';
END
$$;
CREATE TRIGGER reminder_sends_keep_sent
    BEFORE UPDATE ON reminder_sends
    FOR EACH ROW
    WHEN (OLD.state = 'sent' AND NEW.state <> 'sent')
    EXECUTE FUNCTION reminder_sends_keep_sent();
"""


def upgrade() -> None:
    op.execute(TABLE)
    op.execute(INDEXES)
    op.execute(ABSORBING)


def downgrade() -> None:
    op.execute("DROP TABLE reminder_sends")
    op.execute("DROP FUNCTION reminder_sends_keep_sent()")
