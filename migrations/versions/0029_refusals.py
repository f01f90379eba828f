"""Why a reminder is late: how often its recipient was refused for now, and whether the mail server was away.

Revision ID: 0029
Revises: 0028
"""

from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

UP = """
ALTER TABLE reminder_sends
    ADD COLUMN refusals SMALLINT NOT NULL DEFAULT 0,
    ADD COLUMN delayed_by TEXT;
ALTER TABLE reminder_sends_archive
    ADD COLUMN refusals SMALLINT NOT NULL DEFAULT 0,
    ADD COLUMN delayed_by TEXT;
ALTER TABLE reminder_sends_archive ALTER COLUMN refusals DROP DEFAULT;
ALTER TABLE circuit_breakers
    ADD COLUMN away_since TIMESTAMPTZ,
    ADD COLUMN closed_at TIMESTAMPTZ;
UPDATE circuit_breakers SET away_since = opened_at;
"""

DOWN = """
ALTER TABLE circuit_breakers DROP COLUMN closed_at, DROP COLUMN away_since;
ALTER TABLE reminder_sends_archive DROP COLUMN delayed_by, DROP COLUMN refusals;
ALTER TABLE reminder_sends DROP COLUMN delayed_by, DROP COLUMN refusals;
"""


def upgrade() -> None:
    op.execute(UP)


def downgrade() -> None:
    op.execute(DOWN)
