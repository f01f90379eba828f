"""Acts of operators on many rows: what each is about is frozen first, and done in chunks.

Revision ID: 0052
Revises: 0051
"""

from alembic import op

revision = "0052"
down_revision = "0051"
branch_labels = None
depends_on = None

# `form` is of the submitted form, so that it is done once. `parameters` hold no address, subject or text of a message.
TABLES = """
CREATE TABLE operations (
    id BIGSERIAL CONSTRAINT pk_operations PRIMARY KEY,
    form UUID NOT NULL CONSTRAINT uq_operations_form UNIQUE,
    act TEXT NOT NULL,
    parameters JSONB NOT NULL DEFAULT '{}',
    actor TEXT NOT NULL,
    reason TEXT NOT NULL,
    request_id TEXT,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    members BIGINT NOT NULL DEFAULT 0,
    done BIGINT NOT NULL DEFAULT 0,
    unchanged BIGINT NOT NULL DEFAULT 0,
    failed BIGINT NOT NULL DEFAULT 0,
    worked_at TIMESTAMPTZ,
    cancelled_at TIMESTAMPTZ,
    cancelled_by TEXT,
    finished_at TIMESTAMPTZ,
    CONSTRAINT ck_operations_counts CHECK (
        done >= 0 AND unchanged >= 0 AND failed >= 0 AND done + unchanged + failed <= members
    ),
    CONSTRAINT ck_operations_cancelled_is_finished CHECK (
        (cancelled_at IS NULL) = (cancelled_by IS NULL) AND (cancelled_at IS NULL OR finished_at IS NOT NULL)
    ),
    CONSTRAINT ck_operations_finished_is_whole CHECK (
        finished_at IS NULL OR cancelled_at IS NOT NULL OR done + unchanged + failed = members
    )
);
CREATE INDEX ix_operations_open ON operations (id) WHERE finished_at IS NULL;
CREATE TABLE operation_members (
    operation_id BIGINT NOT NULL CONSTRAINT fk_operation_members_operation REFERENCES operations (id) ON DELETE CASCADE,
    snooze_id BIGINT NOT NULL,
    result TEXT,
    detail TEXT,
    decided_at TIMESTAMPTZ,
    CONSTRAINT pk_operation_members PRIMARY KEY (operation_id, snooze_id),
    CONSTRAINT ck_operation_members_result CHECK (result IN ('done', 'unchanged', 'failed')),
    CONSTRAINT ck_operation_members_result_is_dated CHECK ((result IS NULL) = (decided_at IS NULL))
);
CREATE INDEX ix_operation_members_open ON operation_members (operation_id, snooze_id) WHERE result IS NULL;
CREATE INDEX ix_operation_members_result ON operation_members (operation_id, result, snooze_id);
"""


def upgrade() -> None:
    op.execute(TABLES)


def downgrade() -> None:
    op.execute("DROP TABLE operation_members")
    op.execute("DROP TABLE operations")
