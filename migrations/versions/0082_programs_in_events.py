"""Events name the token of the program that acted, so that its owner sees what programs did, and undoes it.

Revision ID: 0082
Revises: 0081
"""

from alembic import op

revision = "0082"
down_revision = "0081"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE snooze_events ADD COLUMN token_id bigint")
    op.execute("CREATE INDEX ix_snooze_events_token ON snooze_events (token_id, at) WHERE token_id IS NOT NULL")
