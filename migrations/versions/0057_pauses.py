"""Operators pause all, a person, a domain, a channel or a priority; and addresses that take no mail.

Revision ID: 0057
Revises: 0056
"""

from alembic import op

revision = "0057"
down_revision = "0056"
branch_labels = None
depends_on = None

# `value` is an address in lower case (person, invalid), a domain, a channel, or a priority. An address is shown masked.
TABLE = """
CREATE TABLE pauses (
    id BIGSERIAL CONSTRAINT pk_pauses PRIMARY KEY,
    kind TEXT NOT NULL,
    value TEXT NOT NULL DEFAULT '',
    actor TEXT NOT NULL,
    reason TEXT NOT NULL,
    since TIMESTAMPTZ NOT NULL DEFAULT now(),
    until TIMESTAMPTZ,
    ended_at TIMESTAMPTZ,
    ended_by TEXT,
    CONSTRAINT ck_pauses_kind CHECK (kind IN ('all', 'person', 'domain', 'channel', 'class', 'invalid')),
    CONSTRAINT ck_pauses_value CHECK ((kind = 'all') = (value = '')),
    CONSTRAINT ck_pauses_channel CHECK (kind <> 'channel' OR value IN ('mail', 'push', 'mailbox')),
    CONSTRAINT ck_pauses_class CHECK (kind <> 'class' OR value ~ '^-?[0-9]{1,4}$'),
    CONSTRAINT ck_pauses_end_is_whole CHECK ((ended_at IS NULL) = (ended_by IS NULL))
);
CREATE UNIQUE INDEX uq_pauses_active ON pauses (kind, value) WHERE ended_at IS NULL;
"""

COLUMN = """
ALTER TABLE email_snoozes ADD COLUMN paused_by BIGINT;
ALTER TABLE email_snoozes_archive ADD COLUMN paused_by BIGINT;
ALTER TABLE email_snoozes
    ADD CONSTRAINT ck_email_snoozes_paused_is_inactive
    CHECK (paused_by IS NULL OR (inactive AND outcome IS NULL)) NOT VALID;
ALTER TABLE email_snoozes VALIDATE CONSTRAINT ck_email_snoozes_paused_is_inactive;
CREATE INDEX ix_email_snoozes_paused_by ON email_snoozes (paused_by, id) WHERE paused_by IS NOT NULL;
"""

# Whoever makes a row live or ends it ends its part in the pause; at its next claim it is set aside again.
TRIGGER = """
CREATE FUNCTION email_snoozes_leave_pause() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    NEW.paused_by := NULL;
    RETURN NEW;
END
$$;
CREATE TRIGGER email_snoozes_leave_pause
BEFORE UPDATE OF inactive, outcome ON email_snoozes
FOR EACH ROW
WHEN (NEW.paused_by IS NOT NULL AND (NOT NEW.inactive OR NEW.outcome IS NOT NULL))
EXECUTE FUNCTION email_snoozes_leave_pause();
"""

# The pause that holds something back: that of everything first. Without a channel, whatever it is.
FUNCTION = """
CREATE FUNCTION snooze_pause(person TEXT, class INTEGER, way TEXT) RETURNS BIGINT
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    RETURN (
        SELECT pause.id
        FROM pauses AS pause
        WHERE pause.ended_at IS NULL
          AND (pause.until IS NULL OR pause.until > CURRENT_TIMESTAMP)
          AND (
              pause.kind = 'all'
              OR (pause.kind = 'channel' AND pause.value = way)
              OR (pause.kind = 'person' AND pause.value = lower(person))
              OR (pause.kind = 'invalid' AND pause.value = lower(person) AND way = 'mail')
              OR (pause.kind = 'domain' AND pause.value = snooze_recipient_domain(person))
              OR (pause.kind = 'class' AND pause.value = CAST(class AS text))
          )
        ORDER BY pause.id
        LIMIT 1
    );
END
$$;
"""

# What a row waits for knows of them: what was set aside, and what is due while its claim would be set aside.
WAITS = (
    "WHEN snooze.inactive THEN",
    "WHEN snooze.inactive AND snooze.paused_by IS NOT NULL THEN 'paused_operator'\n        WHEN snooze.inactive THEN",
)
WAITS_DUE = (
    "WHEN snooze.claimed_at IS NOT NULL THEN 'claimed'",
    """WHEN snooze.claimed_at IS NOT NULL THEN 'claimed'
        WHEN snooze.remind_at <= CURRENT_TIMESTAMP
            AND (SELECT TRUE FROM pauses WHERE ended_at IS NULL LIMIT 1)
            AND snooze_pause(snooze.user_email, snooze.priority, 'mail') IS NOT NULL
            THEN 'paused_operator'""",
)
REWRITE = """
DO $do$
DECLARE
    known text := pg_get_functiondef('snooze_waits_for(email_snoozes, integer)'::regprocedure);
BEGIN
    IF position($a${0}$a$ IN known) = 0 OR position($c${2}$c$ IN known) = 0 THEN
        RAISE EXCEPTION 'snooze_waits_for is not the one that this migration rewrites';
    END IF;
    EXECUTE replace(replace(known, $a${0}$a$, $b${1}$b$), $c${2}$c$, $d${3}$d$);
END
$do$
"""
# Rows that were set aside go on; of several of a message the newest, and none where it was snoozed again.
GO_ON = """
UPDATE email_snoozes AS snooze
SET paused_by = NULL,
    inactive = EXISTS (
        SELECT 1
        FROM email_snoozes AS other
        WHERE other.user_email = snooze.user_email
          AND other.message_id = snooze.message_id
          AND other.id <> snooze.id
          AND (NOT other.inactive OR (other.paused_by IS NOT NULL AND other.id > snooze.id))
    )
WHERE paused_by IS NOT NULL
"""

# While operators have paused everything, nothing takes what is due.
WHILE_PAUSED = """
  AND NOT EXISTS (
      SELECT 1
      FROM pauses
      WHERE ended_at IS NULL
        AND (kind = 'all' OR (kind = 'channel' AND value = 'mail'))
  )"""
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
  AND NOT EXISTS (SELECT 1 FROM open_breakers){unless}
"""
# And what they hold back returns later.
MESSAGES_RETURN = """
CREATE OR REPLACE VIEW invariant_messages_return AS
SELECT
    snooze_id,
    NULL::bigint AS send_id,
    GREATEST(GREATEST(returns_at, deferred_until), snooze_server_met()) AS since,
    'its message is not back in the inbox' AS what
FROM kept_messages
WHERE GREATEST(returns_at, deferred_until) <= CURRENT_TIMESTAMP
  AND returns_at IS NOT NULL
  AND GREATEST(GREATEST(returns_at, deferred_until), snooze_server_met())
    < clock_timestamp() - snooze_term('sweep_seconds', 5) - INTERVAL '10 seconds'{unless}
"""
UNLESS_HELD = """
  AND (
      NOT EXISTS (SELECT 1 FROM pauses WHERE ended_at IS NULL)
      OR snooze_pause(user_email, NULL, 'mailbox') IS NULL
  )"""
# A person takes back that their address was marked.
ACTOR = """
ALTER TABLE audit_log DROP CONSTRAINT ck_audit_log_actor;
ALTER TABLE audit_log ADD CONSTRAINT ck_audit_log_actor CHECK (actor ~ '^({who}:[0-9]+|command|clock)$') NOT VALID;
"""


def upgrade() -> None:
    op.execute(ACTOR.format(who="(operator|user)"))
    op.execute("ALTER TABLE audit_log VALIDATE CONSTRAINT ck_audit_log_actor")
    op.execute(TABLE)
    op.execute(COLUMN)
    op.execute(TRIGGER)
    op.execute(FUNCTION)
    op.execute(REWRITE.format(*WAITS, *WAITS_DUE))
    op.execute(DUE_IS_TAKEN.format(unless=WHILE_PAUSED))
    op.execute(MESSAGES_RETURN.format(unless=UNLESS_HELD))


def downgrade() -> None:
    op.execute(ACTOR.format(who="operator"))
    op.execute(DUE_IS_TAKEN.format(unless=""))
    op.execute(MESSAGES_RETURN.format(unless=""))
    op.execute(REWRITE.format(*WAITS[::-1], *WAITS_DUE[::-1]))
    op.execute("DROP FUNCTION snooze_pause(TEXT, INTEGER, TEXT)")
    op.execute("DROP TRIGGER email_snoozes_leave_pause ON email_snoozes")
    op.execute("DROP FUNCTION email_snoozes_leave_pause()")
    op.execute(GO_ON)
    op.execute("ALTER TABLE email_snoozes DROP COLUMN paused_by")
    op.execute("ALTER TABLE email_snoozes_archive DROP COLUMN paused_by")
    op.execute("DROP TABLE pauses")
