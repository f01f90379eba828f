"""Snoozed messages may be marked as read while they sleep; `was_unread` notes which are unread again at their return.

Revision ID: 0131
Revises: 0130
"""

from alembic import op

revision = "0131"
down_revision = "0130"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE mailboxes ADD COLUMN reads_asleep boolean NOT NULL DEFAULT FALSE")
    op.execute("ALTER TABLE messages ADD COLUMN was_unread boolean NOT NULL DEFAULT FALSE")
