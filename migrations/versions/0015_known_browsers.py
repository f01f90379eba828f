"""Which browser asked for a sign-in link, where it is one that signed in to that account before.

Revision ID: 0015
Revises: 0014
"""

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE sign_ins ADD COLUMN known_hash TEXT")


def downgrade() -> None:
    op.execute("ALTER TABLE sign_ins DROP COLUMN known_hash")
