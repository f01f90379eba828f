"""What a reminder's lateness counts from, kept with its send: its promise, or the end of the rest that deferred it.

Revision ID: 0062
Revises: 0061
"""

from alembic import op

revision = "0062"
down_revision = "0061"
branch_labels = None
depends_on = None

# NULL, as in what an earlier release entered, is the promise. Of those the ones that a rest deferred are few.
UP = """
ALTER TABLE reminder_sends ADD COLUMN late_from TIMESTAMPTZ;
ALTER TABLE reminder_sends_archive ADD COLUMN late_from TIMESTAMPTZ;
UPDATE reminder_sends AS send
SET late_from = GREATEST(send.scheduled_for, snooze.deferred_until)
FROM email_snoozes AS snooze
WHERE snooze.deferred_until IS NOT NULL
  AND snooze.id = send.snooze_id
  AND snooze.scheduled_for = send.scheduled_for
  AND send.channel = 'email';
"""

DOWN = """
ALTER TABLE reminder_sends_archive DROP COLUMN late_from;
ALTER TABLE reminder_sends DROP COLUMN late_from;
"""


def upgrade() -> None:
    op.execute(UP)


def downgrade() -> None:
    op.execute(DOWN)
