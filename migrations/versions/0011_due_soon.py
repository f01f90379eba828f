"""A notice for each statement that brings in a row due within two seconds.

Revision ID: 0011
Revises: 0010
"""

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

# Only what is due within two seconds rings: notices queue up behind each other at commit, so most inserts send none.
TRIGGER = """
CREATE FUNCTION snooze_due_soon() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    IF EXISTS (
        SELECT 1
        FROM fresh
        WHERE NOT inactive
          AND remind_at <= clock_timestamp() + INTERVAL '2 seconds'
    ) THEN
        PERFORM pg_notify('snooze_due', '');
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER email_snoozes_due_soon
AFTER INSERT ON email_snoozes
REFERENCING NEW TABLE AS fresh
FOR EACH STATEMENT EXECUTE FUNCTION snooze_due_soon();
"""


def upgrade() -> None:
    op.execute(TRIGGER)


def downgrade() -> None:
    op.execute("DROP TRIGGER email_snoozes_due_soon ON email_snoozes")
    op.execute("DROP FUNCTION snooze_due_soon()")
