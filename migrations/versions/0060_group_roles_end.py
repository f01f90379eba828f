"""A role by groups ends a day after the sign-in at the provider that gave it.

Revision ID: 0060
Revises: 0059
"""

from alembic import op

revision = "0060"
down_revision = "0059"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE accounts ADD COLUMN group_role_at TIMESTAMPTZ")
    op.execute("UPDATE accounts SET group_role_at = now() WHERE group_role IS NOT NULL")


def downgrade() -> None:
    op.execute("ALTER TABLE accounts DROP COLUMN group_role_at")
