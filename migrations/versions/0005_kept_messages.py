"""The mailbox that Snoozer keeps for people without IMAP, and what the mail sink of `snoozer up` received.

Revision ID: 0005
Revises: 0004
"""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

TABLES = """
CREATE TABLE kept_messages (
    id BIGSERIAL CONSTRAINT pk_kept_messages PRIMARY KEY,
    user_email TEXT NOT NULL,
    message_id TEXT NOT NULL,
    original BYTEA NOT NULL,
    sha256 TEXT NOT NULL,
    subject TEXT,
    sender_name TEXT,
    sender_email TEXT,
    sent_at TIMESTAMPTZ,
    folder TEXT NOT NULL DEFAULT 'inbox',
    unread BOOLEAN NOT NULL DEFAULT TRUE,
    arrived_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    surfaced_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    returned BOOLEAN NOT NULL DEFAULT FALSE,
    CONSTRAINT uq_kept_messages_message UNIQUE (user_email, message_id),
    CONSTRAINT ck_kept_messages_folder CHECK (folder IN ('inbox', 'snoozed', 'done'))
);
CREATE INDEX ix_kept_messages_sha256 ON kept_messages (user_email, sha256);
CREATE INDEX ix_kept_messages_folder ON kept_messages (user_email, folder, surfaced_at, id);

CREATE TABLE sink_messages (
    id BIGSERIAL CONSTRAINT pk_sink_messages PRIMARY KEY,
    received_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    mail_from TEXT NOT NULL,
    rcpt_to TEXT NOT NULL,
    original BYTEA NOT NULL
);
CREATE INDEX ix_sink_messages_rcpt_to ON sink_messages (rcpt_to, id);
"""


def upgrade() -> None:
    op.execute(TABLES)


def downgrade() -> None:
    op.execute("DROP TABLE sink_messages, kept_messages")
