"""Why a breaker opened: the mail server cannot be used, or it refuses everybody.

Revision ID: 0023
Revises: 0022
"""

from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE circuit_breakers ADD COLUMN refuses_everybody BOOLEAN NOT NULL DEFAULT FALSE")


def downgrade() -> None:
    op.execute("ALTER TABLE circuit_breakers DROP COLUMN refuses_everybody")
