"""The weekday on which a person reviews what is snoozed until someday.

Revision ID: 0130
Revises: 0125
"""

from alembic import op

revision = "0130"
down_revision = "0125"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        ALTER TABLE day_shapes
            ADD COLUMN review_on smallint NOT NULL DEFAULT 5,
            ADD CONSTRAINT ck_day_shapes_review_on CHECK (review_on BETWEEN 1 AND 7)
        """
    )
