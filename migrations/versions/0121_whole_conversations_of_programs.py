"""A program's snooze takes the older messages of the conversation along, unless it says otherwise.

Revision ID: 0121
Revises: 0120
"""

from alembic import op

revision = "0121"
down_revision = "0120"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE mailbox_searches ADD COLUMN whole boolean DEFAULT true NOT NULL")
    # The column `seen` has a list now: searches that are not decided begin again.
    op.execute("UPDATE mailbox_searches SET found = NULL, seen = NULL")
