"""Priorities lie between -1000 and 1000, so that a claim can find those that are due.

Revision ID: 0021
Revises: 0020
"""

from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

UP = """
UPDATE email_snoozes
SET priority = LEAST(GREATEST(priority, -1000), 1000)
WHERE priority NOT BETWEEN -1000 AND 1000;
ALTER TABLE email_snoozes
    ADD CONSTRAINT ck_email_snoozes_priority CHECK (priority BETWEEN -1000 AND 1000);
"""


def upgrade() -> None:
    op.execute(UP)


def downgrade() -> None:
    op.execute("ALTER TABLE email_snoozes DROP CONSTRAINT ck_email_snoozes_priority")
