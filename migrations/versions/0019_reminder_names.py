"""A reminder's Message-ID is made in one place: what is sent, and what a restored dump may send again, have the same.

Revision ID: 0019
Revises: 0018
"""

from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

# One expression that the planner writes into the statement that asks for it.
UP = """
CREATE FUNCTION snooze_reminder_name(
    snooze_id BIGINT, owner TEXT, message TEXT, promise TIMESTAMPTZ, domain TEXT
) RETURNS TEXT
LANGUAGE sql STABLE
AS $$
SELECT '<' || left(encode(sha256(convert_to(concat_ws(
    chr(10), snooze_id, owner, message, extract(epoch FROM promise), 'email'
), 'UTF8')), 'hex'), 40) || '@' || domain || '>'
$$
"""

DOWN = "DROP FUNCTION snooze_reminder_name(BIGINT, TEXT, TEXT, TIMESTAMPTZ, TEXT)"


def upgrade() -> None:
    op.execute(UP)


def downgrade() -> None:
    op.execute(DOWN)
