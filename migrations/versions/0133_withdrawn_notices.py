"""Notices that a service has shown are withdrawn: their ids there, and the pushes that withdraw them.

Revision ID: 0133
Revises: 0132
"""

from alembic import op

revision = "0133"
down_revision = "0132"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        ALTER TABLE push_sends
            ADD COLUMN remote_id text,
            ADD COLUMN withdraws bigint,
            ADD CONSTRAINT uq_push_sends_withdraws UNIQUE (withdraws)
        """
    )
    op.execute("CREATE INDEX ix_push_sends_remote ON push_sends (account_id) WHERE remote_id IS NOT NULL")
    op.execute("DROP INDEX uq_push_sends_test")
    op.execute(
        """
        CREATE UNIQUE INDEX uq_push_sends_test ON push_sends (device_id)
        WHERE snooze_id IS NULL AND alarm_id IS NULL AND withdraws IS NULL AND state IN ('reserved', 'sending')
        """
    )
