"""Messages that leave and return with the snooze of another message of their conversation.

Revision ID: 0097
Revises: 0090
"""

from alembic import op

revision = "0097"
down_revision = "0090"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE messages ADD COLUMN snoozed_with bigint")
    op.execute("CREATE INDEX ix_messages_snoozed_with ON messages (snoozed_with) WHERE snoozed_with IS NOT NULL")
