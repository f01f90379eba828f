"""A person's snoozes by what became of them: pages read what they show, and not all that is over as well.

Revision ID: 0016
Revises: 0015
"""

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

# One index for another, because each costs every claim. The old one goes first: who builds beside it and drops it
# afterwards can meet a transaction that has read the table and goes on to write to it, and both wait for each other.
UP = """
DROP INDEX ix_email_snoozes_person;
CREATE INDEX ix_email_snoozes_of_person ON email_snoozes (user_email, outcome, remind_at, id);
"""

DOWN = """
DROP INDEX ix_email_snoozes_of_person;
CREATE INDEX ix_email_snoozes_person ON email_snoozes (user_email, remind_at, id);
"""


def upgrade() -> None:
    op.execute(UP)


def downgrade() -> None:
    op.execute(DOWN)
