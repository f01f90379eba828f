"""How late a reminder says that it is.

Revision ID: 0125
Revises: 0121
"""

from alembic import op

revision = "0125"
down_revision = "0121"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("reminder_sends", "reminder_sends_archive"):
        op.execute(f"ALTER TABLE {table} ADD COLUMN late_by interval")
