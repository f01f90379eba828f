"""Rows whose attempts are exhausted without a release are found by an index of theirs: each sweep read all that is due.

Revision ID: 0070
Revises: 0069
"""

from alembic import op

revision = "0070"
down_revision = "0069"
branch_labels = None
depends_on = None

EXHAUSTED = """
CREATE INDEX ix_email_snoozes_exhausted ON email_snoozes (remind_at)
    WHERE NOT inactive AND claimed_at IS NULL AND attempts >= max_attempts;
"""


def upgrade() -> None:
    op.execute(EXHAUSTED)


def downgrade() -> None:
    op.execute("DROP INDEX ix_email_snoozes_exhausted")
