"""Mailboxes that people connect by IMAP, and where the messages of their snoozes are in them.

Revision ID: 0030
Revises: 0029
"""

from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

# `owner` is the process that may change the mailbox, until `owned_until`; `fence` grows with each change of owners, and
# what a former owner still writes does not match it. `problem` is a code, NULL while the mailbox can be reached.
TABLES = """
CREATE TABLE mailboxes (
    id BIGSERIAL CONSTRAINT pk_mailboxes PRIMARY KEY,
    account_id BIGINT NOT NULL CONSTRAINT fk_mailboxes_account REFERENCES accounts (id) ON DELETE CASCADE,
    address TEXT NOT NULL,
    host TEXT NOT NULL,
    port INTEGER NOT NULL CONSTRAINT ck_mailboxes_port CHECK (port BETWEEN 1 AND 65535),
    security TEXT NOT NULL CONSTRAINT ck_mailboxes_security CHECK (security IN ('tls', 'starttls', 'plain')),
    username TEXT NOT NULL,
    secret BYTEA NOT NULL,
    state TEXT NOT NULL DEFAULT 'active' CONSTRAINT ck_mailboxes_state CHECK (state IN ('active', 'paused', 'leaving')),
    problem TEXT,
    problem_since TIMESTAMPTZ,
    synced_at TIMESTAMPTZ,
    tried_at TIMESTAMPTZ,
    owner TEXT,
    owned_until TIMESTAMPTZ,
    fence BIGINT NOT NULL DEFAULT 0,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    updated_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    CONSTRAINT uq_mailboxes_login UNIQUE (account_id, host, username),
    CONSTRAINT ck_mailboxes_problem_is_whole CHECK (num_nulls(problem, problem_since) IN (0, 2)),
    CONSTRAINT ck_mailboxes_owner_is_whole CHECK (num_nulls(owner, owned_until) IN (0, 2)),
    CONSTRAINT ck_mailboxes_pause_has_a_reason CHECK (state <> 'paused' OR problem IS NOT NULL)
);

CREATE TABLE mailbox_watchers (
    id TEXT CONSTRAINT pk_mailbox_watchers PRIMARY KEY,
    seen_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

-- `place` is where the message is, as last seen: `folder`, `uidvalidity` and `uid`. `wanted` is where it should be.
-- `moving_to` is the intent of a move, written before it, with what the target's next UID was. `home` is the folder to
-- which it returns. `returns_at` is when, for the snooze `snooze_id`; triggers keep both up to date.
CREATE TABLE mailbox_messages (
    id BIGSERIAL CONSTRAINT pk_mailbox_messages PRIMARY KEY,
    mailbox_id BIGINT NOT NULL CONSTRAINT fk_mailbox_messages_mailbox REFERENCES mailboxes (id) ON DELETE CASCADE,
    user_email TEXT NOT NULL,
    message_id TEXT NOT NULL,
    header_id TEXT,
    fingerprint TEXT NOT NULL,
    size BIGINT NOT NULL,
    internal_date TIMESTAMPTZ NOT NULL,
    home TEXT NOT NULL,
    place TEXT NOT NULL CONSTRAINT ck_mailbox_messages_place CHECK (place IN ('home', 'snoozed', 'missing')),
    wanted TEXT NOT NULL CONSTRAINT ck_mailbox_messages_wanted CHECK (wanted IN ('home', 'snoozed')),
    folder TEXT NOT NULL,
    uidvalidity BIGINT NOT NULL,
    uid BIGINT NOT NULL,
    missing_since TIMESTAMPTZ,
    moving_to TEXT CONSTRAINT ck_mailbox_messages_moving_to CHECK (moving_to IN ('home', 'snoozed')),
    target_folder TEXT,
    target_uidvalidity BIGINT,
    target_uidnext BIGINT,
    returns_at TIMESTAMPTZ,
    snooze_id BIGINT,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    updated_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    CONSTRAINT uq_mailbox_messages_message UNIQUE (user_email, message_id),
    CONSTRAINT uq_mailbox_messages_uid UNIQUE (mailbox_id, folder, uidvalidity, uid),
    CONSTRAINT ck_mailbox_messages_return_is_whole CHECK (num_nulls(returns_at, snooze_id) IN (0, 2)),
    CONSTRAINT ck_mailbox_messages_missing_has_its_time CHECK ((place = 'missing') = (missing_since IS NOT NULL)),
    CONSTRAINT ck_mailbox_messages_intent_is_whole CHECK (
        num_nulls(moving_to, target_folder, target_uidvalidity, target_uidnext) IN (0, 4)
    )
);
CREATE INDEX ix_mailbox_messages_returns ON mailbox_messages (returns_at) WHERE returns_at IS NOT NULL;
CREATE INDEX ix_mailbox_messages_work ON mailbox_messages (mailbox_id)
    WHERE wanted <> place OR moving_to IS NOT NULL;
"""

# As for kept messages: the return follows the promise in the transaction that makes, moves or ends it, whichever
# statement or program that is.
FOLLOW = """
CREATE FUNCTION email_snoozes_promise_mailbox_return() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    -- Most inserts are about no message of a mailbox, and asking costs less than an UPDATE of no row.
    IF NOT EXISTS (SELECT 1 FROM fresh JOIN mailbox_messages USING (user_email, message_id)) THEN
        RETURN NULL;
    END IF;
    UPDATE mailbox_messages AS message
    SET returns_at = due.at,
        snooze_id = CASE WHEN due.at IS NOT NULL THEN due.id END,
        updated_at = CURRENT_TIMESTAMP
    FROM (
        SELECT snooze.id, snooze.user_email, snooze.message_id, snooze_return_at(snooze) AS at
        FROM fresh
        JOIN email_snoozes AS snooze ON snooze.id = fresh.id
        JOIN mailbox_messages AS its ON its.user_email = fresh.user_email AND its.message_id = fresh.message_id
        WHERE NOT fresh.inactive
    ) AS due
    WHERE message.user_email = due.user_email
      AND message.message_id = due.message_id;
    RETURN NULL;
END
$$;

CREATE TRIGGER email_snoozes_promise_mailbox_return
AFTER INSERT ON email_snoozes
REFERENCING NEW TABLE AS fresh
FOR EACH STATEMENT EXECUTE FUNCTION email_snoozes_promise_mailbox_return();

CREATE FUNCTION email_snoozes_move_mailbox_return() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
DECLARE
    at TIMESTAMPTZ := CASE WHEN NOT NEW.inactive THEN snooze_return_at(NEW) END;
BEGIN
    -- What repeats is promised anew once its reminder was sent, which may be before its message is back: that comes
    -- first, and the new promise is entered with it.
    UPDATE mailbox_messages
    SET returns_at = at,
        snooze_id = CASE WHEN at IS NOT NULL THEN NEW.id END,
        wanted = CASE WHEN NEW.outcome = 'cancelled' THEN 'home' ELSE wanted END,
        updated_at = CURRENT_TIMESTAMP
    WHERE user_email = NEW.user_email
      AND message_id = NEW.message_id
      AND (NOT NEW.inactive OR snooze_id = NEW.id OR (NEW.outcome = 'cancelled' AND returns_at IS NULL))
      AND NOT (
          NOT NEW.inactive
          AND NEW.recurrence IS NOT NULL
          AND place <> 'home'
          AND COALESCE(returns_at <= clock_timestamp(), FALSE)
      );
    RETURN NULL;
END
$$;

CREATE TRIGGER email_snoozes_move_mailbox_return
AFTER UPDATE ON email_snoozes
FOR EACH ROW
WHEN (
    (NOT NEW.inactive AND OLD.inactive)
    OR (
        NOT NEW.inactive
        AND COALESCE(NEW.scheduled_for, NEW.remind_at) <> COALESCE(OLD.scheduled_for, OLD.remind_at)
    )
    OR (NEW.inactive AND NOT OLD.inactive AND COALESCE(NEW.outcome, 'paused') IN ('paused', 'cancelled'))
    OR (NEW.outcome = 'cancelled' AND OLD.outcome IS NULL)
)
EXECUTE FUNCTION email_snoozes_move_mailbox_return();

CREATE FUNCTION email_snoozes_forget_mailbox_return() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    UPDATE mailbox_messages AS message
    SET returns_at = NULL,
        snooze_id = NULL,
        wanted = 'home',
        updated_at = CURRENT_TIMESTAMP
    FROM gone
    WHERE message.user_email = gone.user_email
      AND message.message_id = gone.message_id
      AND message.snooze_id = gone.id;
    RETURN NULL;
END
$$;

CREATE TRIGGER email_snoozes_forget_mailbox_return
AFTER DELETE ON email_snoozes
REFERENCING OLD TABLE AS gone
FOR EACH STATEMENT EXECUTE FUNCTION email_snoozes_forget_mailbox_return();

CREATE TRIGGER mailbox_messages_fill_return
BEFORE INSERT ON mailbox_messages
FOR EACH ROW EXECUTE FUNCTION kept_messages_fill_return();
"""

# A program whose role may write snoozes, and nothing else, makes and moves returns all the same; no table of its own
# may stand for ours.
AS_OWNER = """
DO $$
DECLARE
    name TEXT;
BEGIN
    FOREACH name IN ARRAY ARRAY[
        'email_snoozes_promise_mailbox_return',
        'email_snoozes_move_mailbox_return',
        'email_snoozes_forget_mailbox_return'
    ] LOOP
        EXECUTE format(
            'ALTER FUNCTION %I() SECURITY DEFINER SET search_path = %I, pg_temp', name, current_schema()
        );
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %I() FROM PUBLIC', name);
    END LOOP;
END
$$
"""

DOWN = """
DROP TRIGGER email_snoozes_forget_mailbox_return ON email_snoozes;
DROP TRIGGER email_snoozes_move_mailbox_return ON email_snoozes;
DROP TRIGGER email_snoozes_promise_mailbox_return ON email_snoozes;
DROP FUNCTION email_snoozes_forget_mailbox_return();
DROP FUNCTION email_snoozes_move_mailbox_return();
DROP FUNCTION email_snoozes_promise_mailbox_return();
DROP TABLE mailbox_messages;
DROP TABLE mailbox_watchers;
DROP TABLE mailboxes;
"""


def upgrade() -> None:
    op.execute(TABLES)
    op.execute(FOLLOW)
    op.execute(AS_OWNER)


def downgrade() -> None:
    op.execute(DOWN)
