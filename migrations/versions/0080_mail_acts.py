"""Mails that act: each acts once, and is answered by a mail that is due until it was sent. Each account has a key for
the addresses at which it snoozes by mail.

Revision ID: 0080
Revises: 0079
"""

from alembic import op

revision = "0080"
down_revision = "0079"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE mail_acts (
            id bigserial,
            account_id bigint NOT NULL,
            sha256 text NOT NULL,
            received_at timestamptz DEFAULT now() NOT NULL,
            understood boolean DEFAULT FALSE NOT NULL,
            message_id text,
            snooze_id bigint,
            scheduled_for timestamptz,
            words jsonb DEFAULT '{}' NOT NULL,
            due_at timestamptz,
            CONSTRAINT pk_mail_acts PRIMARY KEY (id),
            CONSTRAINT uq_mail_acts_mail UNIQUE (account_id, sha256),
            CONSTRAINT fk_mail_acts_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE
        )
        """
    )
    op.execute(
        "ALTER TABLE accounts ADD COLUMN mail_key text NOT NULL "
        "DEFAULT substr(replace(gen_random_uuid()::text, '-', ''), 1, 20), "
        "ADD CONSTRAINT uq_accounts_mail_key UNIQUE (mail_key)"
    )
    op.execute("CREATE INDEX ix_mail_acts_received ON mail_acts (received_at)")
    op.execute("CREATE INDEX ix_mail_acts_due ON mail_acts (due_at, id) WHERE due_at IS NOT NULL")
