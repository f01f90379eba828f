"""The role viewer: reads the operators' pages and acts on nothing.

Revision ID: 0050
Revises: 0049
"""

from alembic import op

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _allow("'user', 'viewer', 'operator', 'admin'")


def downgrade() -> None:
    op.execute("UPDATE accounts SET role = 'user' WHERE role = 'viewer'")
    _allow("'user', 'operator', 'admin'")


def _allow(roles: str) -> None:
    op.execute("ALTER TABLE accounts DROP CONSTRAINT ck_accounts_role")
    op.execute(f"ALTER TABLE accounts ADD CONSTRAINT ck_accounts_role CHECK (role IN ({roles}))")
