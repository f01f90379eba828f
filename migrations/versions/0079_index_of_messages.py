"""An index of finished snoozes by message, by which a program asks for the state of many messages at once.

A live snooze is found by uq_email_snoozes_live. This index leaves live rows out, so claims do not maintain it.
It has a digest, because a Message-ID of a row by hand may be too long for an index.

Revision ID: 0079
Revises: 0078
"""

from alembic import op

revision = "0079"
down_revision = "0078"
branch_labels = None
depends_on = None

INDEXES = (
    "CREATE INDEX ix_email_snoozes_of_message ON email_snoozes (user_email, md5(message_id), id) WHERE inactive",
)


def upgrade() -> None:
    op.execute(INDEXES[0].replace(" INDEX ", " INDEX IF NOT EXISTS "))
