"""Which timeline of which server workers may go on with: after a promotion or a restore it is another one.

Revision ID: 0024
Revises: 0023
"""

from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

TABLE = """
CREATE TABLE accepted_timelines (
    id BIGSERIAL CONSTRAINT pk_accepted_timelines PRIMARY KEY,
    system_identifier BIGINT,
    database_oid BIGINT,
    timeline TEXT,
    accepted_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    accepted_by TEXT NOT NULL
)
"""

# What a server does not say, to this role or at all, is NULL, and is compared with nothing. The timeline is read from
# the log that is written now: the control file names the old one until the checkpoint after a promotion.
FUNCTION = """
CREATE FUNCTION snooze_timeline(OUT system_identifier BIGINT, OUT database_oid BIGINT, OUT timeline TEXT)
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    BEGIN
        SELECT control.system_identifier INTO system_identifier FROM pg_control_system() AS control;
    EXCEPTION WHEN OTHERS THEN
        system_identifier := NULL;
    END;
    SELECT oid INTO database_oid FROM pg_database WHERE datname = current_database();
    BEGIN
        IF NOT pg_is_in_recovery() THEN
            timeline := left(pg_walfile_name(pg_current_wal_lsn()), 8);
        END IF;
    EXCEPTION WHEN OTHERS THEN
        timeline := NULL;
    END;
END
$$
"""

# In plpgsql, which keeps its plan: each claim asks.
IS_ACCEPTED = """
CREATE FUNCTION snooze_timeline_is_accepted() RETURNS BOOLEAN
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    accepted accepted_timelines;
    present RECORD;
BEGIN
    SELECT * INTO accepted FROM accepted_timelines ORDER BY id DESC LIMIT 1;
    present := snooze_timeline();
    RETURN (present.system_identifier <> accepted.system_identifier) IS NOT TRUE
        AND (present.database_oid <> accepted.database_oid) IS NOT TRUE
        AND (present.timeline <> accepted.timeline) IS NOT TRUE;
END
$$
"""

# The place where the schema is made or upgraded is the one that is meant.
ACCEPT = """
INSERT INTO accepted_timelines (system_identifier, database_oid, timeline, accepted_by)
SELECT system_identifier, database_oid, timeline, 'migrate'
FROM snooze_timeline()
"""


def upgrade() -> None:
    op.execute(TABLE)
    op.execute(FUNCTION)
    op.execute(IS_ACCEPTED)
    op.execute(ACCEPT)


def downgrade() -> None:
    op.execute("DROP FUNCTION snooze_timeline_is_accepted()")
    op.execute("DROP FUNCTION snooze_timeline()")
    op.execute("DROP TABLE accepted_timelines")
