"""Searches for the messages of snoozes that programs made, in the connected mailboxes of their owners.

A row exists from the snooze until its message was found, or was not, and only for owners with an active mailbox.

Revision ID: 0083
Revises: 0082
"""

from alembic import op

revision = "0083"
down_revision = "0082"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE mailbox_searches (
            mailbox_id bigint NOT NULL,
            snooze_id bigint NOT NULL,
            entered_at timestamptz DEFAULT clock_timestamp() NOT NULL,
            found smallint,
            seen jsonb,
            CONSTRAINT pk_mailbox_searches PRIMARY KEY (mailbox_id, snooze_id),
            CONSTRAINT fk_mailbox_searches_mailbox FOREIGN KEY (mailbox_id) REFERENCES mailboxes(id) ON DELETE CASCADE
        )
        """
    )
    op.execute("CREATE INDEX ix_mailbox_searches_snooze ON mailbox_searches (snooze_id)")
