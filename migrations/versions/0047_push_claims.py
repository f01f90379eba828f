"""Pushes that are on their way are found by an index of their own.

Revision ID: 0047
Revises: 0046
"""

from alembic import op

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("DROP INDEX ix_push_sends_open")
    op.execute("CREATE INDEX ix_push_sends_claimed ON push_sends (claimed_until) WHERE claimed_until IS NOT NULL")


def downgrade() -> None:
    op.execute("DROP INDEX ix_push_sends_claimed")
    op.execute("CREATE INDEX ix_push_sends_open ON push_sends (account_id) WHERE state IN ('reserved', 'sending')")
