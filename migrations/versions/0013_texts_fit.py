"""Texts that stand in indexes are refused when they are too long for those of the ledger.

Revision ID: 0013
Revises: 0012
"""

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

# The queue's index takes a message_id that the ledger's, which holds the promise as well, does not. A trigger, and no
# CHECK, which holds for each UPDATE too, NOT VALID or not: rows that came in before could neither be sent nor retired.
# It reads like a CHECK to whoever inserts, costs no other statement anything, and says no person's address.
UP = """
CREATE FUNCTION email_snoozes_refuse_long_texts() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    RAISE EXCEPTION 'new row for relation "email_snoozes" violates check constraint "ck_email_snoozes_texts_fit"'
        USING ERRCODE = 'check_violation',
            SCHEMA = TG_TABLE_SCHEMA,
            TABLE = TG_TABLE_NAME,
            CONSTRAINT = 'ck_email_snoozes_texts_fit',
            DETAIL = format(
                'Octets: user_email %s (254 at most), message_id %s (998), serialization_key %s (998).',
                octet_length(NEW.user_email),
                octet_length(NEW.message_id),
                COALESCE(octet_length(NEW.serialization_key), 0)
            );
END
$$;

CREATE TRIGGER email_snoozes_texts_fit
    BEFORE INSERT ON email_snoozes
    FOR EACH ROW
    WHEN (
        octet_length(NEW.user_email) > 254
        OR octet_length(NEW.message_id) > 998
        OR octet_length(NEW.serialization_key) > 998
    )
    EXECUTE FUNCTION email_snoozes_refuse_long_texts();
"""


def upgrade() -> None:
    op.execute(UP)


def downgrade() -> None:
    op.execute("DROP TRIGGER email_snoozes_texts_fit ON email_snoozes")
    op.execute("DROP FUNCTION email_snoozes_refuse_long_texts()")
