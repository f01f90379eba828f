"""A kept message keeps its own ids for threading, beside the id that is unique; and reminders that came back are kept.

Revision ID: 0027
Revises: 0026
"""

from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

# Each row is looked at for the condition, but not its original, which lies beside the table.
UP = """
ALTER TABLE kept_messages
    ADD COLUMN thread_ids TEXT,
    DROP CONSTRAINT ck_kept_messages_folder,
    ADD CONSTRAINT ck_kept_messages_folder CHECK (folder IN ('inbox', 'snoozed', 'done', 'reminders'))
"""

DOWN = """
UPDATE kept_messages SET folder = 'done' WHERE folder = 'reminders';
ALTER TABLE kept_messages
    DROP COLUMN thread_ids,
    DROP CONSTRAINT ck_kept_messages_folder,
    ADD CONSTRAINT ck_kept_messages_folder CHECK (folder IN ('inbox', 'snoozed', 'done'))
"""


def upgrade() -> None:
    op.execute(UP)


def downgrade() -> None:
    op.execute(DOWN)
