"""Times of this age only, suspects apart in the lane's index, and an index for those that wait behind one key.

Databases of some days hold parts of this already, so each part is made anew.

Revision ID: 0012
Revises: 0011
"""

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

AWAY = """
ALTER TABLE email_snoozes
    DROP CONSTRAINT IF EXISTS ck_email_snoozes_remind_at_is_finite,
    DROP CONSTRAINT IF EXISTS ck_email_snoozes_times_are_of_this_age;
DROP INDEX IF EXISTS ix_email_snoozes_lane;
DROP INDEX IF EXISTS ix_email_snoozes_key;
"""

UP = """
ALTER TABLE email_snoozes
    ADD CONSTRAINT ck_email_snoozes_times_are_of_this_age CHECK (
        remind_at BETWEEN '1970-01-01 00:00+00' AND '9999-01-01 00:00+00'
        AND scheduled_for BETWEEN '1970-01-01 00:00+00' AND '9999-01-01 00:00+00'
    );
CREATE INDEX ix_email_snoozes_lane ON email_snoozes (priority, (crash_count > 0), remind_at, id)
    WHERE NOT inactive AND claimed_at IS NULL;
CREATE INDEX ix_email_snoozes_key ON email_snoozes (serialization_key, remind_at, id)
    WHERE NOT inactive AND claimed_at IS NULL AND serialization_key IS NOT NULL;
"""

DOWN = """
ALTER TABLE email_snoozes
    ADD CONSTRAINT ck_email_snoozes_remind_at_is_finite CHECK (isfinite(remind_at));
CREATE INDEX ix_email_snoozes_lane ON email_snoozes (priority, remind_at, id)
    WHERE NOT inactive AND claimed_at IS NULL;
"""


def upgrade() -> None:
    op.execute(AWAY)
    op.execute(UP)


def downgrade() -> None:
    op.execute(AWAY)
    op.execute(DOWN)
