"""Every time of a snooze lies in this age, so that no program that reads rows fails at one of them.

Revision ID: 0022
Revises: 0021
"""

from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

FIRST, LAST = "TIMESTAMPTZ '1970-01-01 00:00+00'", "TIMESTAMPTZ '9999-01-01 00:00+00'"
# remind_at and scheduled_for have had their limits since 0012.
COLUMNS = ("claimed_at", "lease_expires_at", "last_error_at", "created_at", "updated_at", "finished_at")

# Written by hand, such as `infinity`; they are moved to the nearest time that is allowed.
_NEAREST = "CASE WHEN {0} < {1} THEN {1} WHEN {0} > {2} THEN {2} ELSE {0} END"
REPAIR = f"""
UPDATE email_snoozes
SET {", ".join(f"{name} = {_NEAREST.format(name, FIRST, LAST)}" for name in COLUMNS)}
WHERE {" OR ".join(f"{name} NOT BETWEEN {FIRST} AND {LAST}" for name in COLUMNS)}
"""  # noqa: S608 - names and times of this file

UP = f"""
ALTER TABLE email_snoozes
    ADD CONSTRAINT ck_email_snoozes_other_times_are_of_this_age CHECK (
        {" AND ".join(f"{name} BETWEEN {FIRST} AND {LAST}" for name in COLUMNS)}
    )
"""


def upgrade() -> None:
    op.execute(REPAIR)
    op.execute(UP)


def downgrade() -> None:
    op.execute("ALTER TABLE email_snoozes DROP CONSTRAINT ck_email_snoozes_other_times_are_of_this_age")
