"""Functions, triggers and views are made from their files by `snoozer migrate`; this table records how they were made.

Revision ID: 0076
Revises: 0075
"""

from alembic import op

revision = "0076"
down_revision = "0075"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE definitions (
            name TEXT CONSTRAINT pk_definitions PRIMARY KEY,
            source TEXT NOT NULL,
            present TEXT NOT NULL
        )
        """
    )


def downgrade() -> None:
    op.execute("DROP TABLE definitions")
