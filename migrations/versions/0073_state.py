"""The state of a snooze, its promise and when it is due: each is one function, which pages, gauges and queries select.

Revision ID: 0073
Revises: 0072
"""

from alembic import context, op

revision = "0073"
down_revision = "0072"
branch_labels = None
depends_on = None

# The planner writes both into the statement that calls them, so that an index is used as if the columns stood there.
TIMES = """
CREATE FUNCTION snooze_promise(snooze email_snoozes) RETURNS timestamptz
LANGUAGE sql IMMUTABLE
AS $$
    SELECT COALESCE(snooze.scheduled_for, snooze.remind_at)
$$;
CREATE FUNCTION snooze_due_at(snooze email_snoozes) RETURNS timestamptz
LANGUAGE sql IMMUTABLE
AS $$
    SELECT GREATEST(snooze_promise(snooze), snooze.deferred_until)
$$;
"""

# asleep | due: the next claim takes it | held: claimed | leaving: claimed, and its dot is authorised
# waiting: for its turn (`key`), a `digest`, the end of a `rest`, the next `retry`, the return of its `message`, workers
#     of a `newer` release, the sweep that makes it a case (`spent`), or the end of an `operator_pause`
# uncertain: it may have been sent; `hold` or `rest` until that is decided | case: retired
# paused: `owner_pause`, `operator_pause` or `database_pause` | sent | cancelled
# next_at: when that changes by itself, or a claim lapses; NULL for at once, never, and what is not known.
# A set of one row, so that the planner writes it into the statement: it calls a scalar function for each row.
# Sub-selects with a limit are executed for each row; for EXISTS the planner might read other tables whole.
# OFFSET 0: otherwise the planner copies the CASE into each column and evaluates it as often.
STATE = """
CREATE FUNCTION snooze_state(snooze email_snoozes, known_schema integer)
RETURNS TABLE (state text, why text, next_at timestamptz)
LANGUAGE sql STABLE
AS $$
    SELECT
        found.words[1],
        found.words[2],
        CASE
            WHEN snooze.claimed_at IS NOT NULL THEN snooze.lease_expires_at
            WHEN found.words[2] = 'operator_pause' THEN (
                SELECT pause.until
                FROM pauses AS pause
                WHERE pause.id = COALESCE(
                    snooze.paused_by, snooze_pause(snooze.user_email, snooze.priority, 'mail')
                )
            )
            WHEN NOT snooze.inactive AND snooze.remind_at > CURRENT_TIMESTAMP THEN snooze.remind_at
        END
    FROM (
        SELECT CASE
            WHEN snooze.inactive THEN CASE
                WHEN snooze.outcome = 'retired' THEN ARRAY['case', NULL]
                WHEN snooze.outcome IS NOT NULL THEN ARRAY[snooze.outcome, NULL]
                WHEN snooze.paused_by IS NOT NULL THEN ARRAY['paused', 'operator_pause']
                ELSE ARRAY['paused', COALESCE(
                    (
                        SELECT CASE event.kind WHEN 'resumed' THEN 'database_pause' ELSE 'owner_pause' END
                        FROM snooze_events AS event
                        WHERE event.snooze_id = snooze.id
                          AND event.kind IN ('paused', 'resumed', 'undone', 'imported')
                        ORDER BY event.id DESC
                        LIMIT 1
                    ),
                    'database_pause'
                )]
            END
            WHEN snooze.claimed_at IS NOT NULL THEN COALESCE(
                (
                    SELECT ARRAY['leaving', NULL]
                    FROM reminder_sends AS send
                    WHERE send.user_email = snooze.user_email
                      AND send.message_id = snooze.message_id
                      AND send.scheduled_for = snooze.scheduled_for
                      AND send.channel = 'email'
                      AND send.state = 'sending'
                      AND send.claim_token = snooze.claim_token
                    LIMIT 1
                ),
                ARRAY['held', NULL]
            )
            ELSE COALESCE(
                CASE WHEN snooze.remind_at <= CURRENT_TIMESTAMP THEN CASE
                    WHEN (SELECT TRUE FROM pauses WHERE ended_at IS NULL LIMIT 1)
                        AND snooze_pause(snooze.user_email, snooze.priority, 'mail') IS NOT NULL
                        THEN ARRAY['waiting', 'operator_pause']
                    WHEN snooze.attempts >= snooze.max_attempts THEN ARRAY['waiting', 'spent']
                    WHEN snooze.schema_version > known_schema THEN ARRAY['waiting', 'newer']
                    WHEN snooze.behind_key THEN ARRAY['waiting', 'key']
                    WHEN snooze.serialization_key IS NOT NULL
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
                        THEN ARRAY['waiting', 'key']
                END END,
                CASE WHEN snooze.scheduled_for IS NOT NULL THEN (
                    SELECT ARRAY['uncertain', CASE
                        WHEN snooze.remind_at <= CURRENT_TIMESTAMP THEN NULL
                        WHEN snooze.deferred_until > CURRENT_TIMESTAMP THEN 'rest'
                        ELSE 'hold'
                    END]
                    FROM reminder_sends AS send
                    WHERE send.user_email = snooze.user_email
                      AND send.message_id = snooze.message_id
                      AND send.scheduled_for = snooze.scheduled_for
                      AND send.channel = 'email'
                      AND send.state = 'uncertain'
                    LIMIT 1
                ) END,
                CASE
                    WHEN snooze.deferred_until > CURRENT_TIMESTAMP AND snooze.remind_at > CURRENT_TIMESTAMP
                        THEN ARRAY['waiting', 'rest']
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
                        THEN ARRAY['waiting', 'digest']
                    WHEN snooze.remind_at <= CURRENT_TIMESTAMP THEN ARRAY['due', NULL]
                    WHEN snooze.scheduled_for <= CURRENT_TIMESTAMP THEN ARRAY['waiting', CASE
                        WHEN snooze.attempts > 0 OR snooze.last_error IS NOT NULL THEN 'retry'
                        ELSE 'message'
                    END]
                    ELSE ARRAY['asleep', NULL]
                END
            )
        END AS words
        OFFSET 0
    ) AS found
$$
"""


def upgrade() -> None:
    op.execute(TIMES)
    op.execute(STATE)
    op.execute("DROP FUNCTION snooze_waits_for(email_snoozes, integer)")


def downgrade() -> None:
    op.execute("DROP FUNCTION snooze_state(email_snoozes, integer)")
    op.execute("DROP FUNCTION snooze_due_at(email_snoozes), snooze_promise(email_snoozes)")
    known, rewritten = (context.script.get_revision(number).module for number in ("0054", "0057"))
    op.execute(known.WAITS_FOR)
    op.execute(rewritten.REWRITE.format(*rewritten.WAITS, *rewritten.WAITS_DUE))
