"""Lanes of the queue: priorities, rows that must not run at once, and the ledger's looks into a mailbox.

Revision ID: 0006
Revises: 0005
"""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

UP = """
ALTER TABLE email_snoozes ADD COLUMN serialization_key TEXT;
CREATE UNIQUE INDEX uq_email_snoozes_in_flight ON email_snoozes (serialization_key)
    WHERE claimed_at IS NOT NULL AND serialization_key IS NOT NULL;
CREATE INDEX ix_email_snoozes_lane ON email_snoozes (priority, remind_at, id)
    WHERE NOT inactive AND claimed_at IS NULL;
ALTER TABLE reminder_sends ADD COLUMN looks SMALLINT NOT NULL DEFAULT 0;
ALTER TABLE reminder_sends ADD COLUMN looked_at TIMESTAMPTZ;
"""

DOWN = """
ALTER TABLE reminder_sends DROP COLUMN looked_at;
ALTER TABLE reminder_sends DROP COLUMN looks;
DROP INDEX ix_email_snoozes_lane;
ALTER TABLE email_snoozes DROP COLUMN serialization_key;
"""


def upgrade() -> None:
    op.execute(UP)


def downgrade() -> None:
    op.execute(DOWN)
