"""The invariant of what is due asks the index of due rows; it read every row that is asleep.

Revision ID: 0017
Revises: 0016
"""

from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

# An index is asked for what does not change within a statement, as CURRENT_TIMESTAMP; clock_timestamp() does.
VIEW = """
CREATE OR REPLACE VIEW invariant_due_is_taken AS
SELECT
    id AS snooze_id,
    NULL::bigint AS send_id,
    GREATEST(remind_at, created_at, snooze_server_met()) AS since,
    'due, and nobody takes it' AS what
FROM email_snoozes
WHERE NOT inactive
  AND claimed_at IS NULL
  AND attempts < max_attempts
  AND remind_at <= CURRENT_TIMESTAMP
  AND GREATEST(remind_at, created_at, snooze_server_met())
    < clock_timestamp()
    - snooze_term('lease_seconds', 90) - snooze_term('sweep_seconds', 5) - snooze_term('backoff_seconds', 60)
  AND NOT EXISTS (SELECT 1 FROM circuit_breakers WHERE state <> 'closed');
"""


def upgrade() -> None:
    op.execute(VIEW)


def downgrade() -> None:
    op.execute(VIEW.replace("CURRENT_TIMESTAMP", "clock_timestamp()"))
