"""Alarms, and the services on which operators hear of them: a push of an alarm has no snooze.

Revision ID: 0132
Revises: 0131
"""

from alembic import op

revision = "0132"
down_revision = "0131"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE push_devices ADD COLUMN tells_alarms boolean NOT NULL DEFAULT FALSE")
    op.execute(
        """
        CREATE TABLE alarms (
            id bigserial CONSTRAINT pk_alarms PRIMARY KEY,
            sentence text NOT NULL,
            began_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            ended_at timestamptz
        )
        """
    )
    op.execute("CREATE UNIQUE INDEX uq_alarms_open ON alarms ((ended_at IS NULL)) WHERE ended_at IS NULL")
    op.execute(
        """
        ALTER TABLE push_sends
            ADD COLUMN alarm_id bigint,
            ADD COLUMN alarm_ended boolean,
            ADD CONSTRAINT ck_push_sends_alarm CHECK (
                num_nonnulls(alarm_id, alarm_ended) <> 1 AND num_nonnulls(alarm_id, snooze_id) < 2
            ),
            ADD CONSTRAINT uq_push_sends_alarm UNIQUE (device_id, alarm_id, alarm_ended)
        """
    )
    op.execute("DROP INDEX uq_push_sends_test")
    op.execute(
        """
        CREATE UNIQUE INDEX uq_push_sends_test ON push_sends (device_id)
        WHERE snooze_id IS NULL AND alarm_id IS NULL AND state IN ('reserved', 'sending')
        """
    )
