"""When housekeeping first met each start of the database server, from which leases count after an outage.

A server that crashed says when its process started, which lies before it had recovered and anybody could be heard;
a standby that was promoted says when it started as a standby.

Revision ID: 0010
Revises: 0009
"""

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

UP = """
CREATE TABLE server_starts (
    started_at TIMESTAMPTZ CONSTRAINT pk_server_starts PRIMARY KEY,
    met_at TIMESTAMPTZ NOT NULL
);

CREATE FUNCTION snooze_server_met() RETURNS TIMESTAMPTZ
LANGUAGE SQL STABLE
AS $$
    SELECT COALESCE(
        (SELECT met_at FROM server_starts WHERE started_at = pg_postmaster_start_time()),
        pg_postmaster_start_time()
    )
$$;
"""

# The two invariants that speak of how long something has waited.
VIEWS = """
CREATE OR REPLACE VIEW invariant_due_is_taken AS
SELECT
    id AS snooze_id,
    NULL::bigint AS send_id,
    GREATEST(remind_at, created_at, snooze_server_met()) AS since,
    'due, and nobody takes it' AS what
FROM email_snoozes
WHERE NOT inactive
  AND claimed_at IS NULL
  AND attempts < max_attempts
  AND remind_at <= clock_timestamp()
  AND GREATEST(remind_at, created_at, snooze_server_met())
    < clock_timestamp()
    - snooze_term('lease_seconds', 90) - snooze_term('sweep_seconds', 5) - snooze_term('backoff_seconds', 60)
  AND NOT EXISTS (SELECT 1 FROM circuit_breakers WHERE state <> 'closed');

CREATE OR REPLACE VIEW invariant_the_dead_hold_nothing AS
SELECT id AS snooze_id, NULL::bigint AS send_id, since, what
FROM (
    SELECT
        snooze.id,
        GREATEST(
            CASE WHEN workers.state = 'dead' THEN workers.stopped_at ELSE snooze.lease_expires_at END,
            snooze_server_met()
        ) AS since,
        CASE
            WHEN workers.state = 'dead' THEN 'held by a worker that is dead'
            ELSE 'held by a worker whose lease ran out'
        END AS what
    FROM email_snoozes AS snooze
    LEFT JOIN workers ON workers.id = snooze.claimed_by
    WHERE snooze.claimed_at IS NOT NULL
) AS held
WHERE since < clock_timestamp() - snooze_term('lease_seconds', 90) - snooze_term('sweep_seconds', 5);
"""


def upgrade() -> None:
    op.execute(UP)
    op.execute(VIEWS)


def downgrade() -> None:
    op.execute(VIEWS.replace("snooze_server_met()", "pg_postmaster_start_time()"))
    op.execute("DROP FUNCTION snooze_server_met()")
    op.execute("DROP TABLE server_starts")
