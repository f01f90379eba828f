"""What each row waits for, by the claim's own predicate: one definition for pages, gauges and support queries.

Revision ID: 0054
Revises: 0053
"""

from alembic import op

revision = "0054"
down_revision = "0053"
branch_labels = None
depends_on = None

# A set of one row, so that the planner writes it into the statement: a scalar function would be called for each one.
# Sub-selects with a limit are asked for each row; for EXISTS the planner might read other tables whole.
WAITS_FOR = """
CREATE FUNCTION snooze_waits_for(snooze email_snoozes, known_schema integer) RETURNS TABLE (state text)
LANGUAGE sql STABLE
AS $$
    SELECT CASE
        WHEN snooze.outcome IS NOT NULL THEN snooze.outcome
        WHEN snooze.inactive THEN COALESCE(
            (
                SELECT CASE event.kind WHEN 'resumed' THEN 'paused_database' ELSE 'paused' END
                FROM snooze_events AS event
                WHERE event.snooze_id = snooze.id
                  AND event.kind IN ('paused', 'resumed', 'undone', 'imported')
                ORDER BY event.id DESC
                LIMIT 1
            ),
            'paused_database'
        )
        WHEN snooze.claimed_at IS NOT NULL THEN 'claimed'
        WHEN snooze.remind_at <= CURRENT_TIMESTAMP AND snooze.attempts >= snooze.max_attempts THEN 'spent'
        WHEN snooze.remind_at <= CURRENT_TIMESTAMP AND snooze.schema_version > known_schema THEN 'newer'
        WHEN snooze.remind_at <= CURRENT_TIMESTAMP AND snooze.behind_key THEN 'key'
        WHEN snooze.remind_at <= CURRENT_TIMESTAMP
            AND snooze.serialization_key IS NOT NULL
            AND (
                (
                    SELECT TRUE
                    FROM email_snoozes AS busy
                    WHERE busy.serialization_key = snooze.serialization_key
                      AND busy.claimed_at IS NOT NULL
                    LIMIT 1
                )
                OR (
                    SELECT TRUE
                    FROM email_snoozes AS ahead
                    WHERE ahead.serialization_key = snooze.serialization_key
                      AND NOT ahead.inactive
                      AND ahead.claimed_at IS NULL
                      AND ahead.attempts < ahead.max_attempts
                      AND ahead.schema_version <= known_schema
                      AND (ahead.remind_at, ahead.id) < (snooze.remind_at, snooze.id)
                    LIMIT 1
                )
            )
            THEN 'key'
        WHEN snooze.scheduled_for IS NOT NULL
            AND (
                SELECT TRUE
                FROM reminder_sends AS send
                WHERE send.user_email = snooze.user_email
                  AND send.message_id = snooze.message_id
                  AND send.scheduled_for = snooze.scheduled_for
                  AND send.channel = 'email'
                  AND send.state = 'uncertain'
                LIMIT 1
            )
            THEN 'uncertain'
        WHEN snooze.scheduled_for IS NOT NULL
            AND (
                SELECT TRUE
                FROM digest_members AS member
                JOIN digests AS digest ON digest.id = member.digest_id
                JOIN email_snoozes AS lead ON lead.id = digest.snooze_id
                WHERE member.snooze_id = snooze.id
                  AND member.scheduled_for = snooze.scheduled_for
                LIMIT 1
            )
            THEN 'digest'
        WHEN snooze.remind_at <= CURRENT_TIMESTAMP THEN 'due'
        WHEN snooze.deferred_until >= snooze.remind_at THEN 'resting'
        WHEN snooze.scheduled_for < snooze.remind_at
            AND (snooze.attempts > 0 OR snooze.last_error IS NOT NULL)
            THEN 'retry'
        WHEN snooze.scheduled_for < snooze.remind_at THEN 'put_off'
        ELSE 'asleep'
    END
$$
"""

# A breaker that no worker has asked for an hour is that of a mail server which is not used any more.
OPEN_BREAKERS = """
CREATE VIEW open_breakers AS
SELECT server, state, refuses_everybody, COALESCE(away_since, opened_at, updated_at) AS since
FROM circuit_breakers
WHERE state <> 'closed'
  AND (tripped_at IS NOT NULL OR updated_at > clock_timestamp() - INTERVAL '1 hour')
"""

DUE_IS_TAKEN = """
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
  AND remind_at <= CURRENT_TIMESTAMP
  AND GREATEST(remind_at, created_at, snooze_server_met())
    < clock_timestamp()
    - snooze_term('lease_seconds', 90) - snooze_term('sweep_seconds', 5) - snooze_term('backoff_seconds', 60)
  AND NOT EXISTS (SELECT 1 FROM {breakers})
"""


def upgrade() -> None:
    op.execute(WAITS_FOR)
    op.execute(OPEN_BREAKERS)
    op.execute(DUE_IS_TAKEN.format(breakers="open_breakers"))
    # What a claim was given back for waits here, and what its person paused: few of a large table.
    op.execute(
        "CREATE INDEX ix_email_snoozes_put_back ON email_snoozes (remind_at)"
        " WHERE NOT inactive AND claimed_at IS NULL AND scheduled_for IS NOT NULL"
    )
    op.execute("CREATE INDEX ix_email_snoozes_paused ON email_snoozes (id) WHERE inactive AND outcome IS NULL")


def downgrade() -> None:
    op.execute("DROP INDEX ix_email_snoozes_put_back, ix_email_snoozes_paused")
    op.execute(DUE_IS_TAKEN.format(breakers="circuit_breakers WHERE state <> 'closed'"))
    op.execute("DROP VIEW open_breakers")
    op.execute("DROP FUNCTION snooze_waits_for(email_snoozes, integer)")
