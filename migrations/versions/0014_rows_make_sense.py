"""Values that no page could show are refused: a wall clock beyond the calendar, a repetition that is no object.

Revision ID: 0014
Revises: 0013
"""

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

# A trigger, for the reasons that 0013 gives. The wall clock of the first and last promise is some hours beyond them.
UP = """
CREATE FUNCTION email_snoozes_refuse_nonsense() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    RAISE EXCEPTION 'new row for relation "email_snoozes" violates check constraint "ck_email_snoozes_make_sense"'
        USING ERRCODE = 'check_violation',
            SCHEMA = TG_TABLE_SCHEMA,
            TABLE = TG_TABLE_NAME,
            CONSTRAINT = 'ck_email_snoozes_make_sense',
            DETAIL = 'wall_time lies between 1970 and 9999, and recurrence is a JSON object or null.';
END
$$;

CREATE TRIGGER email_snoozes_make_sense
    BEFORE INSERT ON email_snoozes
    FOR EACH ROW
    WHEN (
        NEW.wall_time NOT BETWEEN '1969-12-31 00:00' AND '9999-01-02 00:00'
        OR jsonb_typeof(NEW.recurrence) NOT IN ('object', 'null')
    )
    EXECUTE FUNCTION email_snoozes_refuse_nonsense();
"""


def upgrade() -> None:
    op.execute(UP)


def downgrade() -> None:
    op.execute("DROP TRIGGER email_snoozes_make_sense ON email_snoozes")
    op.execute("DROP FUNCTION email_snoozes_refuse_nonsense()")
