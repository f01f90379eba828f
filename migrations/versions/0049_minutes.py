"""What happened in each minute is kept for a month; workers say what they are; an operator can trip a breaker.

Revision ID: 0049
Revises: 0048
"""

from alembic import op

revision = "0049"
down_revision = "0048"
branch_labels = None
depends_on = None

# `seconds` is how long the row's time is: minutes of the last day, hours before. `due` and `oldest_due` were measured
# when the minute had ended, and are unknown of one that was recorded later.
MINUTES = """
CREATE TABLE queue_minutes (
    seconds INT NOT NULL,
    starts_at TIMESTAMPTZ NOT NULL,
    sent INT NOT NULL,
    retried INT NOT NULL,
    failed INT NOT NULL,
    p50 DOUBLE PRECISION,
    p99 DOUBLE PRECISION,
    due INT,
    oldest_due DOUBLE PRECISION,
    CONSTRAINT pk_queue_minutes PRIMARY KEY (seconds, starts_at),
    CONSTRAINT ck_queue_minutes_seconds CHECK (seconds IN (60, 3600))
);
CREATE INDEX ix_reminder_sends_sent ON reminder_sends (sent_at) WHERE state = 'sent' AND channel = 'email';
"""

# NULL of a worker of an earlier release.
WORKERS = """
ALTER TABLE workers
    ADD COLUMN version TEXT,
    ADD COLUMN host TEXT,
    ADD COLUMN batch_size INT,
    ADD COLUMN concurrency INT;
"""

# A breaker that an operator tripped stays open until an operator resets it.
TRIPPED = """
ALTER TABLE circuit_breakers
    ADD COLUMN tripped_at TIMESTAMPTZ,
    ADD COLUMN tripped_by TEXT,
    ADD COLUMN trip_reason TEXT,
    ADD CONSTRAINT ck_circuit_breakers_trip_is_whole
        CHECK (num_nulls(tripped_at, tripped_by, trip_reason) IN (0, 3)),
    ADD CONSTRAINT ck_circuit_breakers_tripped_is_open CHECK (tripped_at IS NULL OR state = 'open');
"""


def upgrade() -> None:
    op.execute(MINUTES)
    op.execute(WORKERS)
    op.execute(TRIPPED)


def downgrade() -> None:
    op.execute("ALTER TABLE circuit_breakers DROP COLUMN tripped_at, DROP COLUMN tripped_by, DROP COLUMN trip_reason")
    op.execute(
        "ALTER TABLE workers DROP COLUMN version, DROP COLUMN host, DROP COLUMN batch_size, DROP COLUMN concurrency"
    )
    op.execute("DROP INDEX ix_reminder_sends_sent")
    op.execute("DROP TABLE queue_minutes")
