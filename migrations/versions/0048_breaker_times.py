"""When a mail server last worked and last failed.

Revision ID: 0048
Revises: 0047
"""

from alembic import op

revision = "0048"
down_revision = "0047"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "ALTER TABLE circuit_breakers"
        " ADD COLUMN last_success_at TIMESTAMP WITH TIME ZONE,"
        " ADD COLUMN last_failure_at TIMESTAMP WITH TIME ZONE"
    )
    op.execute("UPDATE circuit_breakers SET last_success_at = closed_at, last_failure_at = opened_at")


def downgrade() -> None:
    op.execute("ALTER TABLE circuit_breakers DROP COLUMN last_success_at, DROP COLUMN last_failure_at")
