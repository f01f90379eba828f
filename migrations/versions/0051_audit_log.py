"""The audit log: who acted on what, in rows that are only appended, each with a hash over itself and the row before.

Revision ID: 0051
Revises: 0050
"""

from alembic import op

revision = "0051"
down_revision = "0050"
branch_labels = None
depends_on = None

# A trigger chooses `id`, `at` and `hash`, whatever an INSERT says: ids have no gaps, and times do not go back.
TABLE = """
CREATE TABLE audit_log (
    id BIGINT NOT NULL CONSTRAINT pk_audit_log PRIMARY KEY,
    at TIMESTAMPTZ NOT NULL,
    actor TEXT NOT NULL,
    act TEXT NOT NULL,
    reason TEXT,
    request_id TEXT,
    operation_id BIGINT,
    snooze_id BIGINT,
    target TEXT,
    before JSONB,
    after JSONB,
    hash BYTEA NOT NULL,
    CONSTRAINT ck_audit_log_actor CHECK (actor ~ '^(operator:[0-9]+|command|clock)$'),
    CONSTRAINT ck_audit_log_texts_fit CHECK (
        length(act) BETWEEN 1 AND 100
        AND length(reason) <= 1000
        AND length(request_id) <= 200
        AND length(target) <= 200
    ),
    CONSTRAINT ck_audit_log_without_addresses CHECK (
        concat_ws(' ', reason, target, before, after) !~ '[[:alnum:]]@[[:alnum:]]'
    )
);
CREATE INDEX ix_audit_log_at ON audit_log (at, id);
CREATE INDEX ix_audit_log_actor ON audit_log (actor, id);
CREATE INDEX ix_audit_log_act ON audit_log (act, id);
CREATE INDEX ix_audit_log_snooze ON audit_log (snooze_id, id) WHERE snooze_id IS NOT NULL;
CREATE INDEX ix_audit_log_operation ON audit_log (operation_id, id) WHERE operation_id IS NOT NULL;
"""

HASH = """
CREATE FUNCTION audit_log_hash(previous BYTEA, entry audit_log) RETURNS BYTEA
LANGUAGE sql STABLE
AS $$
    SELECT sha256(
        COALESCE(previous, '') || convert_to(
            CAST(
                jsonb_build_array(
                    entry.id,
                    CAST(EXTRACT(EPOCH FROM entry.at) * 1000000 AS bigint),
                    entry.actor,
                    entry.act,
                    entry.reason,
                    entry.request_id,
                    entry.operation_id,
                    entry.snooze_id,
                    entry.target,
                    entry.before,
                    entry.after
                ) AS text
            ),
            'UTF8'
        )
    )
$$
"""

# The lock is held until the transaction ends, so that the row before is committed or of this transaction.
APPEND = """
CREATE FUNCTION audit_log_append() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
DECLARE
    last audit_log;
BEGIN
    PERFORM pg_advisory_xact_lock(7266837049);
    SELECT * INTO last FROM audit_log ORDER BY id DESC LIMIT 1;
    NEW.id := COALESCE(last.id, 0) + 1;
    NEW.at := GREATEST(clock_timestamp(), last.at);
    NEW.hash := audit_log_hash(last.hash, NEW);
    RETURN NEW;
END
$$;

CREATE FUNCTION audit_log_refuse() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    RAISE EXCEPTION 'the audit log is only appended to' USING ERRCODE = 'insufficient_privilege';
END
$$;

CREATE TRIGGER audit_log_append
BEFORE INSERT ON audit_log
FOR EACH ROW EXECUTE FUNCTION audit_log_append();

CREATE TRIGGER audit_log_keep
BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log
FOR EACH STATEMENT EXECUTE FUNCTION audit_log_refuse();
"""

# A temporary table of the same name is not what the chain goes on from.
SEARCH_PATH = """
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION audit_log_append() SET search_path = %I, pg_temp', current_schema());
END
$$
"""


def upgrade() -> None:
    op.execute(TABLE)
    op.execute(HASH)
    op.execute(APPEND)
    op.execute(SEARCH_PATH)


def downgrade() -> None:
    op.execute("DROP FUNCTION audit_log_hash(BYTEA, audit_log)")
    op.execute("DROP TABLE audit_log")
    op.execute("DROP FUNCTION audit_log_append()")
    op.execute("DROP FUNCTION audit_log_refuse()")
