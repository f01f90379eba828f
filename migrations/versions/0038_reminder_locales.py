"""The language of a reminder: frozen with its send, as its zone is, so that a resend has the same bytes.

Revision ID: 0038
Revises: 0037
"""

from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None

UP = """
ALTER TABLE reminder_sends ADD COLUMN locale TEXT;
ALTER TABLE reminder_sends_archive ADD COLUMN locale TEXT;
"""

DOWN = """
ALTER TABLE reminder_sends_archive DROP COLUMN locale;
ALTER TABLE reminder_sends DROP COLUMN locale;
"""


def upgrade() -> None:
    op.execute(UP)


def downgrade() -> None:
    op.execute(DOWN)
