"""Who works, whether the mail server is to be left alone, and the paper trail.

Revision ID: 0003
Revises: 0002
"""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

TABLES = """
CREATE TABLE workers (
    id TEXT CONSTRAINT pk_workers PRIMARY KEY,
    state TEXT NOT NULL DEFAULT 'alive',
    started_at TIMESTAMPTZ NOT NULL,
    heartbeat_at TIMESTAMPTZ NOT NULL,
    stopped_at TIMESTAMPTZ,
    CONSTRAINT ck_workers_state CHECK (state IN ('alive', 'draining', 'dead')),
    CONSTRAINT ck_workers_dead_is_dated CHECK ((state = 'dead') = (stopped_at IS NOT NULL))
) WITH (fillfactor = 50);

CREATE TABLE circuit_breakers (
    server TEXT CONSTRAINT pk_circuit_breakers PRIMARY KEY,
    state TEXT NOT NULL DEFAULT 'closed',
    failures INT NOT NULL DEFAULT 0,
    last_failure TEXT,
    opened_at TIMESTAMPTZ,
    probe_token UUID,
    probe_at TIMESTAMPTZ,
    updated_at TIMESTAMPTZ NOT NULL DEFAULT NOW(),
    CONSTRAINT ck_circuit_breakers_state CHECK (state IN ('closed', 'open', 'half-open')),
    CONSTRAINT ck_circuit_breakers_failures CHECK (failures >= 0)
);

CREATE TABLE snooze_events (
    id BIGSERIAL CONSTRAINT pk_snooze_events PRIMARY KEY,
    snooze_id BIGINT NOT NULL,
    at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    kind TEXT NOT NULL,
    actor TEXT NOT NULL,
    route TEXT NOT NULL,
    detail JSONB NOT NULL DEFAULT '{}'
);
CREATE INDEX ix_snooze_events_snooze ON snooze_events (snooze_id, id);

CREATE TABLE housekeeping_runs (
    chore TEXT CONSTRAINT pk_housekeeping_runs PRIMARY KEY,
    finished_at TIMESTAMPTZ NOT NULL
);
"""


def upgrade() -> None:
    op.execute(TABLES)


def downgrade() -> None:
    op.execute("DROP TABLE housekeeping_runs, snooze_events, circuit_breakers, workers")
