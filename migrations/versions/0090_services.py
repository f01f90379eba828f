"""A device may be a service, such as ntfy, whose address is encrypted; a test of it is a push without a snooze.

Revision ID: 0090
Revises: 0083
"""

from alembic import op

revision = "0090"
down_revision = "0083"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        ALTER TABLE push_devices
            ADD COLUMN service text,
            ADD COLUMN address bytea,
            ALTER COLUMN key_id DROP NOT NULL,
            ALTER COLUMN endpoint DROP NOT NULL,
            ALTER COLUMN public_key DROP NOT NULL,
            ALTER COLUMN auth_secret DROP NOT NULL,
            ADD CONSTRAINT ck_push_devices_kind CHECK (
                num_nonnulls(service, address) = CASE WHEN service IS NULL THEN 0 ELSE 2 END
                AND num_nulls(key_id, endpoint, public_key, auth_secret) = CASE WHEN service IS NULL THEN 0 ELSE 4 END
            )
        """
    )
    op.execute("ALTER TABLE push_sends ALTER COLUMN snooze_id DROP NOT NULL")
    op.execute(
        """
        CREATE UNIQUE INDEX uq_push_sends_test ON push_sends (device_id)
        WHERE snooze_id IS NULL AND state IN ('reserved', 'sending')
        """
    )
