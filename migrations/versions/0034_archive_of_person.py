"""What is archived of one person is found by an index, for the export; browsers can be forgotten.

Revision ID: 0034
Revises: 0033
"""

from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None

# Building it takes as long as the archive is large, and this transaction holds the lock of the queue: above a size that
# is read in a second, months that are there stay without it, and are read whole, and new ones get it.
INDEX = """
DO $$
BEGIN
    IF (
        SELECT COALESCE(sum(pg_relation_size(relid)), 0) < 200000000
        FROM pg_partition_tree('email_snoozes_archive')
        WHERE isleaf
    ) THEN
        CREATE INDEX ix_email_snoozes_archive_person ON email_snoozes_archive (user_email, id);
    ELSE
        CREATE INDEX ix_email_snoozes_archive_person ON ONLY email_snoozes_archive (user_email, id);
    END IF;
END
$$
"""


def upgrade() -> None:
    op.execute(INDEX)
    # How often the person signed out everywhere: the mark of a browser that signed in before is of that number.
    op.execute("ALTER TABLE accounts ADD COLUMN browsers_forgotten INTEGER NOT NULL DEFAULT 0")


def downgrade() -> None:
    op.execute("ALTER TABLE accounts DROP COLUMN browsers_forgotten")
    op.execute("DROP INDEX ix_email_snoozes_archive_person")
