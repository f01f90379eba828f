"""Kept messages have the begin of their text for lists; what is back, and what is next to wake, are found by indexes.

Revision ID: 0043
Revises: 0042
"""

from alembic import op

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None

# NULL until it is known: of what was stored before, and by an earlier release, housekeeping fills it.
SNIPPETS = """
ALTER TABLE kept_messages ADD COLUMN snippet TEXT;
CREATE INDEX ix_kept_messages_without_snippet ON kept_messages (id) WHERE snippet IS NULL;
CREATE INDEX ix_kept_messages_back ON kept_messages (user_email, surfaced_at, id)
    WHERE returned AND unread AND folder = 'inbox';
CREATE INDEX ix_kept_messages_asleep
    ON kept_messages (user_email, COALESCE(GREATEST(returns_at, deferred_until), surfaced_at), id)
    WHERE folder = 'snoozed';
"""


def upgrade() -> None:
    op.execute(SNIPPETS)


def downgrade() -> None:
    op.execute("ALTER TABLE kept_messages DROP COLUMN snippet")
    op.execute("DROP INDEX ix_kept_messages_back")
    op.execute("DROP INDEX ix_kept_messages_asleep")
