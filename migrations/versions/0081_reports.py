"""Reports of mail systems about reminders: each is an event, once for each promise, kind and code. By some of them
addresses are marked invalid, which the audit log says.

Revision ID: 0081
Revises: 0080
"""

from alembic import op

revision = "0081"
down_revision = "0080"
branch_labels = None
depends_on = None

INDEXES = (
    "CREATE UNIQUE INDEX uq_snooze_events_report "
    "ON snooze_events (snooze_id, kind, (detail ->> 'promise'), (detail ->> 'code')) WHERE route = 'report'",
)


def upgrade() -> None:
    op.execute(INDEXES[0].replace(" INDEX ", " INDEX IF NOT EXISTS "))
    op.execute(
        "ALTER TABLE audit_log DROP CONSTRAINT ck_audit_log_actor, ADD CONSTRAINT ck_audit_log_actor "
        "CHECK (actor ~ '^((operator|user):[0-9]+|command|clock|provider|mail)$')"
    )
