"""Pushes that are not over are found by an index of theirs: each sweep read all of the last 30 days.

Revision ID: 0071
Revises: 0070
"""

from alembic import op

revision = "0071"
down_revision = "0070"
branch_labels = None
depends_on = None

OPEN = "CREATE INDEX ix_push_sends_open ON push_sends (id) WHERE state IN ('reserved', 'sending');"


def upgrade() -> None:
    op.execute(OPEN)


def downgrade() -> None:
    op.execute("DROP INDEX ix_push_sends_open")
