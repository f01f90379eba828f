"""The archive: what is over lies in partitions by month of its end, and the queue stays small.

Revision ID: 0007
Revises: 0006
"""

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

# The columns of the living tables in their order, so that rows move whole; a later column is added to both.
TABLES = """
CREATE TABLE email_snoozes_archive (
    LIKE email_snoozes,
    CONSTRAINT pk_email_snoozes_archive PRIMARY KEY (id, finished_at)
) PARTITION BY RANGE (finished_at);

CREATE TABLE reminder_sends_archive (
    finished_at TIMESTAMPTZ NOT NULL,
    LIKE reminder_sends,
    CONSTRAINT pk_reminder_sends_archive PRIMARY KEY (id, finished_at)
) PARTITION BY RANGE (finished_at);

CREATE INDEX ix_reminder_sends_archive_snooze ON reminder_sends_archive (snooze_id);
CREATE INDEX ix_reminder_sends_archive_promise ON reminder_sends_archive (user_email, message_id, scheduled_for);
CREATE INDEX ix_email_snoozes_finished ON email_snoozes (finished_at, id) WHERE outcome IN ('sent', 'cancelled');
CREATE INDEX ix_snooze_events_at ON snooze_events USING brin (at);
"""

# Made apart and then attached: that waits for nobody who reads or writes other months.
PREPARE = """
CREATE FUNCTION snooze_archive_prepare(month DATE) RETURNS BOOLEAN
LANGUAGE plpgsql
SET lock_timeout = '2s'
SET timezone = 'UTC'
AS $$
DECLARE
    parent TEXT;
    partition TEXT;
    made BOOLEAN := FALSE;
BEGIN
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
CREATE FUNCTION snooze_archive_expire(keep_from DATE) RETURNS SETOF TEXT
LANGUAGE plpgsql
SET lock_timeout = '2s'
AS $$
DECLARE
    partition TEXT;
BEGIN
    FOR partition IN
        SELECT relname
        FROM pg_inherits
        JOIN pg_class ON pg_class.oid = inhrelid
        WHERE inhparent IN ('email_snoozes_archive'::regclass, 'reminder_sends_archive'::regclass)
          AND CASE
              WHEN relname ~ '_[0-9]{4}_[0-9]{2}$' THEN to_date(right(relname, 7), 'YYYY_MM') < keep_from
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

# A promise that was kept is not kept twice because its send lies in the archive. What is younger than a day cannot lie
# there, and the archive's many partitions are not even planned for.
KEPT = """
CREATE FUNCTION snooze_archived_send(owner TEXT, message TEXT, promise TIMESTAMPTZ) RETURNS BIGINT
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    IF promise > clock_timestamp() - INTERVAL '1 day' THEN
        RETURN NULL;
    END IF;
    RETURN (
        SELECT max(id)
        FROM reminder_sends_archive
        WHERE user_email = owner
          AND message_id = message
          AND scheduled_for = promise
          AND state = 'sent'
    );
END
$$
"""

# Room on each page for the new versions that leases make (measured in tests/db/test_archive.py), and vacuum
# long before a fifth of a large table is dead: claims walk over what is dead at the head of the index.
STORAGE = """
ALTER TABLE email_snoozes SET (
    fillfactor = 80,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.02,
    autovacuum_vacuum_cost_limit = 2000
);
ALTER TABLE reminder_sends SET (
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.05
);
"""

DOWN = """
ALTER TABLE reminder_sends RESET (
    autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold, autovacuum_analyze_scale_factor
);
ALTER TABLE email_snoozes RESET (
    fillfactor, autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold,
    autovacuum_analyze_scale_factor, autovacuum_vacuum_cost_limit
);
DROP FUNCTION snooze_archived_send(TEXT, TEXT, TIMESTAMPTZ);
DROP FUNCTION snooze_archive_expire(DATE);
DROP FUNCTION snooze_archive_prepare(DATE);
DROP INDEX ix_snooze_events_at;
DROP INDEX ix_email_snoozes_finished;
DROP TABLE reminder_sends_archive;
DROP TABLE email_snoozes_archive;
"""


def upgrade() -> None:
    op.execute(TABLES)
    op.execute(PREPARE)
    op.execute(EXPIRE)
    op.execute(KEPT)
    op.execute(STORAGE)


def downgrade() -> None:
    op.execute(DOWN)
