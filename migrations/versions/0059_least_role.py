"""The archive's months are made and dropped by the owner's functions, so that the clock's role needs no rights to.

Revision ID: 0059
Revises: 0058
"""

from alembic import op

revision = "0059"
down_revision = "0058"
branch_labels = None
depends_on = None

# Who is not the owner makes no month of a far future, and drops none that is younger than a month.
PREPARE = """
CREATE OR REPLACE FUNCTION snooze_archive_prepare(month DATE) RETURNS BOOLEAN
LANGUAGE plpgsql
{security}
SET lock_timeout = '2s'
SET timezone = 'UTC'
AS $$
DECLARE
    parent TEXT;
    partition TEXT;
    made BOOLEAN := FALSE;
BEGIN
    {guard}
    PERFORM pg_advisory_xact_lock(7266837007);
    FOREACH parent IN ARRAY ARRAY['email_snoozes_archive', 'reminder_sends_archive'] LOOP
        partition := parent || to_char(month, '_YYYY_MM');
        CONTINUE WHEN to_regclass(quote_ident(partition)) IS NOT NULL;
        EXECUTE format('CREATE TABLE %I (LIKE %I)', partition, parent);
        EXECUTE format(
            'ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
            parent, partition, month::timestamptz, month::timestamptz + INTERVAL '1 month'
        );
        made := TRUE;
    END LOOP;
    RETURN made;
END
$$
"""

EXPIRE = """
CREATE OR REPLACE FUNCTION snooze_archive_expire(keep_from DATE) RETURNS SETOF TEXT
LANGUAGE plpgsql
{security}
SET lock_timeout = '2s'
AS $$
DECLARE
    partition TEXT;
BEGIN
    {guard}
    FOR partition IN
        SELECT relname
        FROM pg_inherits
        JOIN pg_class ON pg_class.oid = inhrelid
        WHERE inhparent IN ('email_snoozes_archive'::regclass, 'reminder_sends_archive'::regclass)
          AND CASE
              WHEN relname ~ '_[0-9]{{4}}_[0-9]{{2}}$' THEN to_date(right(relname, 7), 'YYYY_MM') < keep_from
              ELSE FALSE
          END
        ORDER BY relname
    LOOP
        EXECUTE format('DROP TABLE %I', partition);
        RETURN NEXT partition;
    END LOOP;
END
$$
"""

NEAR = """
    IF NOT pg_has_role(session_user, current_user, 'MEMBER') AND month > current_date + 100 THEN
        RAISE EXCEPTION 'no month of the archive is made so early' USING ERRCODE = 'insufficient_privilege';
    END IF;
"""
OLD = """
    IF NOT pg_has_role(session_user, current_user, 'MEMBER') THEN
        keep_from := LEAST(keep_from, (date_trunc('month', now() AT TIME ZONE 'UTC') - INTERVAL '1 month')::date);
    END IF;
"""

# With the owner's rights, names are those of this schema alone.
PATHS = """
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION snooze_archive_prepare(DATE) SET search_path = %I, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION snooze_archive_expire(DATE) SET search_path = %I, pg_temp', current_schema());
END
$$
"""


def upgrade() -> None:
    op.execute(PREPARE.format(security="SECURITY DEFINER", guard=NEAR.strip()))
    op.execute(EXPIRE.format(security="SECURITY DEFINER", guard=OLD.strip()))
    op.execute(PATHS)
    op.execute("REVOKE ALL ON FUNCTION snooze_archive_prepare(DATE), snooze_archive_expire(DATE) FROM PUBLIC")


def downgrade() -> None:
    op.execute("GRANT EXECUTE ON FUNCTION snooze_archive_prepare(DATE), snooze_archive_expire(DATE) TO PUBLIC")
    op.execute("ALTER FUNCTION snooze_archive_prepare(DATE) RESET search_path")
    op.execute("ALTER FUNCTION snooze_archive_expire(DATE) RESET search_path")
    op.execute(PREPARE.format(security="SECURITY INVOKER", guard=""))
    op.execute(EXPIRE.format(security="SECURITY INVOKER", guard=""))
