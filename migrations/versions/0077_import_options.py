"""A row of an import has the columns that people choose as one object, so that a new one needs no column here.

Revision ID: 0077
Revises: 0076
"""

from alembic import op

revision = "0077"
down_revision = "0076"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE import_rows ADD COLUMN options JSONB NOT NULL DEFAULT '{}'")


def downgrade() -> None:
    op.execute("ALTER TABLE import_rows DROP COLUMN options")
