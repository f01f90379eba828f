"""Cases are found by what went wrong, by the domain of their recipient and by their message.

Revision ID: 0053
Revises: 0052
"""

from alembic import op

revision = "0053"
down_revision = "0052"
branch_labels = None
depends_on = None

# The one home of what makes two failures alike: the words of the error, its reply code and enhanced code. Of every
# other word that has a digit or an @ only a sign is left, so that a person, a queue id or a number of seconds makes no
# failure another one. In the collation C, and of 500 characters, it is the same and quick in every database: an index
# holds it, so that a row without it could not be retired.
ERROR_TEXT = r"""
CREATE FUNCTION snooze_error_text(error TEXT) RETURNS TEXT
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 500
AS $$
DECLARE
    said TEXT := left(COALESCE(NULLIF(error, ''), 'No error was written down'), 500);
    code TEXT := COALESCE(
        substring(
            said COLLATE "C"
            FROM '^(?:[^0-9@]*(?:: |with ))?[45][0-9][0-9](?: [245]\.[0-9]+\.[0-9]+)?(?![0-9A-Za-z.@_])'
        ),
        ''
    );
BEGIN
    RETURN code || regexp_replace(
        substr(said, length(code) + 1) COLLATE "C",
        '[^][\s<>(),;="'']*[0-9@][^][\s<>(),;="'']*',
        '…',
        'g'
    );
END
$$;
"""

# Whether the mail server refused it for good (5) or for now (4), may have taken it (a), its worker was lost or broke
# down (b), or something else happened (0).
ERROR_CLASS = r"""
CREATE FUNCTION snooze_error_class(error TEXT) RETURNS TEXT
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN error LIKE 'It may have been sent%' THEN 'a'
    WHEN error LIKE 'The worker that held it was lost%' OR error LIKE 'The delivery broke down%' THEN 'b'
    ELSE COALESCE(
        substring(left(error, 500) COLLATE "C" FROM '^(?:[^0-9@]*(?:: |with ))?([45])[0-9][0-9](?![0-9A-Za-z.@_])'),
        '0'
    )
END;
"""

# 32 hexadecimal digits, the first of them the class, so that a class is a range of the index.
FINGERPRINT = """
CREATE FUNCTION snooze_error_fingerprint(error TEXT) RETURNS TEXT
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN snooze_error_class(error) || substr(md5(snooze_error_text(error)), 2);
"""

DOMAIN = """
CREATE FUNCTION snooze_recipient_domain(email TEXT) RETURNS TEXT
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN lower(split_part(email, '@', -1));
"""

# Of cases only: they are few, and no other row is looked at twice.
INDEXES = """
CREATE INDEX ix_email_snoozes_case_errors ON email_snoozes (snooze_error_fingerprint(last_error), finished_at, id)
    WHERE outcome = 'retired';
CREATE INDEX ix_email_snoozes_case_domains ON email_snoozes (snooze_recipient_domain(user_email), finished_at, id)
    WHERE outcome = 'retired';
CREATE INDEX ix_email_snoozes_case_messages ON email_snoozes (md5(message_id)) WHERE outcome = 'retired';
"""


def upgrade() -> None:
    for step in (ERROR_TEXT, ERROR_CLASS, FINGERPRINT, DOMAIN, INDEXES):
        op.execute(step)


def downgrade() -> None:
    op.execute("DROP INDEX ix_email_snoozes_case_messages, ix_email_snoozes_case_domains, ix_email_snoozes_case_errors")
    op.execute("DROP FUNCTION snooze_recipient_domain(TEXT)")
    op.execute("DROP FUNCTION snooze_error_fingerprint(TEXT)")
    op.execute("DROP FUNCTION snooze_error_class(TEXT)")
    op.execute("DROP FUNCTION snooze_error_text(TEXT)")
