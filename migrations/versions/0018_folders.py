"""How full a folder is, and how much of it unread, is counted in the index.

Revision ID: 0018
Revises: 0017
"""

from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

UP = """
DROP INDEX ix_kept_messages_folder;
CREATE INDEX ix_kept_messages_folder ON kept_messages (user_email, folder, surfaced_at, id) INCLUDE (unread);
"""

DOWN = """
DROP INDEX ix_kept_messages_folder;
CREATE INDEX ix_kept_messages_folder ON kept_messages (user_email, folder, surfaced_at, id);
"""


def upgrade() -> None:
    op.execute(UP)


def downgrade() -> None:
    op.execute(DOWN)
