"""Why a breaker opened: the mail server cannot be used, or it refuses everybody.

Revision ID: 0025
Revises: 0024
"""

from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE circuit_breakers ADD COLUMN refuses_everybody BOOLEAN NOT NULL DEFAULT FALSE")


def downgrade() -> None:
    op.execute("ALTER TABLE circuit_breakers DROP COLUMN refuses_everybody")
