"""The return of a kept message is a channel of its own: it has its own time and its own row in the ledger.

Revision ID: 0028
Revises: 0027
"""

from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

# When a kept message returns, and which snooze returns it; both NULL where none does.
COLUMNS = """
ALTER TABLE kept_messages
    ADD COLUMN returns_at TIMESTAMPTZ,
    ADD COLUMN snooze_id BIGINT,
    ADD CONSTRAINT ck_kept_messages_return_is_whole CHECK (num_nulls(returns_at, snooze_id) IN (0, 2));
CREATE INDEX ix_kept_messages_returns ON kept_messages (returns_at) WHERE returns_at IS NOT NULL;
"""

# A return has no claim and no mail.
LEDGER = """
ALTER TABLE reminder_sends
    ALTER COLUMN reminder_message_id DROP NOT NULL,
    ALTER COLUMN claim_token DROP NOT NULL,
    DROP CONSTRAINT ck_reminder_sends_channel,
    ADD CONSTRAINT ck_reminder_sends_channel CHECK (channel IN ('email', 'mailbox')),
    ADD CONSTRAINT ck_reminder_sends_mail_is_whole CHECK (
        channel <> 'email' OR num_nulls(reminder_message_id, claim_token) = 0
    );
ALTER TABLE reminder_sends_archive
    ALTER COLUMN reminder_message_id DROP NOT NULL,
    ALTER COLUMN claim_token DROP NOT NULL;
"""

# The return follows the promise in the transaction that makes, moves or ends it, whichever statement or program that
# is. A promise that was kept is not kept twice: its row is in the ledger. What is sent or retired still returns. Where
# a snooze is cancelled or deleted, nothing would: its message goes back to the inbox at once.
FOLLOW = """
CREATE FUNCTION snooze_return_at(snooze email_snoozes) RETURNS TIMESTAMPTZ
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    promise TIMESTAMPTZ := COALESCE(snooze.scheduled_for, snooze.remind_at);
BEGIN
    IF EXISTS (
        SELECT 1
        FROM reminder_sends
        WHERE user_email = snooze.user_email
          AND message_id = snooze.message_id
          AND scheduled_for = promise
          AND channel = 'mailbox'
    ) THEN
        RETURN NULL;
    END IF;
    RETURN promise;
END
$$;

CREATE FUNCTION email_snoozes_promise_return() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    -- Most inserts are about no kept message, and asking costs less than an UPDATE of no row.
    IF NOT EXISTS (SELECT 1 FROM fresh JOIN kept_messages USING (user_email, message_id)) THEN
        RETURN NULL;
    END IF;
    UPDATE kept_messages AS kept
    SET returns_at = due.at,
        snooze_id = CASE WHEN due.at IS NOT NULL THEN due.id END
    FROM (
        SELECT snooze.id, snooze.user_email, snooze.message_id, snooze_return_at(snooze) AS at
        FROM fresh
        JOIN email_snoozes AS snooze ON snooze.id = fresh.id
        JOIN kept_messages AS its ON its.user_email = fresh.user_email AND its.message_id = fresh.message_id
        WHERE NOT fresh.inactive
    ) AS due
    WHERE kept.user_email = due.user_email
      AND kept.message_id = due.message_id;
    RETURN NULL;
END
$$;

CREATE TRIGGER email_snoozes_promise_return
AFTER INSERT ON email_snoozes
REFERENCING NEW TABLE AS fresh
FOR EACH STATEMENT EXECUTE FUNCTION email_snoozes_promise_return();

CREATE FUNCTION email_snoozes_move_return() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
DECLARE
    at TIMESTAMPTZ := CASE WHEN NOT NEW.inactive THEN snooze_return_at(NEW) END;
BEGIN
    UPDATE kept_messages
    SET returns_at = at,
        snooze_id = CASE WHEN at IS NOT NULL THEN NEW.id END,
        folder = CASE WHEN NEW.outcome = 'cancelled' AND folder = 'snoozed' THEN 'inbox' ELSE folder END
    WHERE user_email = NEW.user_email
      AND message_id = NEW.message_id
      AND (NOT NEW.inactive OR snooze_id = NEW.id);
    RETURN NULL;
END
$$;

CREATE TRIGGER email_snoozes_move_return
AFTER UPDATE ON email_snoozes
FOR EACH ROW
WHEN (
    (NOT NEW.inactive AND OLD.inactive)
    OR (
        NOT NEW.inactive
        AND COALESCE(NEW.scheduled_for, NEW.remind_at) <> COALESCE(OLD.scheduled_for, OLD.remind_at)
    )
    OR (NEW.inactive AND NOT OLD.inactive AND COALESCE(NEW.outcome, 'paused') IN ('paused', 'cancelled'))
)
EXECUTE FUNCTION email_snoozes_move_return();

CREATE FUNCTION email_snoozes_forget_return() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    UPDATE kept_messages AS kept
    SET returns_at = NULL,
        snooze_id = NULL,
        folder = CASE WHEN kept.folder = 'snoozed' THEN 'inbox' ELSE kept.folder END
    FROM gone
    WHERE kept.user_email = gone.user_email
      AND kept.message_id = gone.message_id
      AND kept.snooze_id = gone.id;
    RETURN NULL;
END
$$;

CREATE TRIGGER email_snoozes_forget_return
AFTER DELETE ON email_snoozes
REFERENCING OLD TABLE AS gone
FOR EACH STATEMENT EXECUTE FUNCTION email_snoozes_forget_return();

CREATE FUNCTION kept_messages_fill_return() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    SELECT snooze_return_at(snooze), CASE WHEN snooze_return_at(snooze) IS NOT NULL THEN snooze.id END
    INTO NEW.returns_at, NEW.snooze_id
    FROM email_snoozes AS snooze
    WHERE snooze.user_email = NEW.user_email
      AND snooze.message_id = NEW.message_id
      AND NOT snooze.inactive;
    RETURN NEW;
END
$$;

CREATE TRIGGER kept_messages_fill_return
BEFORE INSERT ON kept_messages
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
        'email_snoozes_promise_return', 'email_snoozes_move_return', 'email_snoozes_forget_return'
    ] LOOP
        EXECUTE format(
            'ALTER FUNCTION %I() SECURITY DEFINER SET search_path = %I, pg_temp', name, current_schema()
        );
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %I() FROM PUBLIC', name);
    END LOOP;
END
$$
"""

# What waits for its time, and what a reminder that was never sent has left in the folder of what is snoozed.
FILL = """
UPDATE kept_messages AS kept
SET returns_at = COALESCE(snooze.scheduled_for, snooze.remind_at),
    snooze_id = snooze.id
FROM email_snoozes AS snooze
WHERE kept.user_email = snooze.user_email
  AND kept.message_id = snooze.message_id
  AND NOT snooze.inactive;

UPDATE kept_messages AS kept
SET folder = 'inbox',
    unread = TRUE,
    returned = TRUE,
    surfaced_at = clock_timestamp()
WHERE folder = 'snoozed'
  AND returns_at IS NULL
  AND NOT EXISTS (
      SELECT 1
      FROM email_snoozes AS paused
      WHERE paused.user_email = kept.user_email
        AND paused.message_id = kept.message_id
        AND paused.inactive
        AND paused.outcome IS NULL
  );
"""

ARCHIVED = """
CREATE OR REPLACE FUNCTION snooze_archived_send(owner TEXT, message TEXT, promise TIMESTAMPTZ) RETURNS BIGINT
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
          AND state = 'sent'{channel}
    );
END
$$
"""

FINISHED = """
CREATE OR REPLACE VIEW invariant_finished_has_its_send AS
SELECT
    snooze.id AS snooze_id,
    NULL::bigint AS send_id,
    snooze.finished_at AS since,
    'finished as sent, and the ledger has no such send' AS what
FROM (
    SELECT id, user_email, message_id, scheduled_for, finished_at, outcome FROM email_snoozes
    UNION ALL
    SELECT id, user_email, message_id, scheduled_for, finished_at, outcome FROM email_snoozes_archive
) AS snooze
WHERE snooze.outcome = 'sent'
  AND NOT EXISTS (
      SELECT 1
      FROM reminder_sends AS send
      WHERE (send.user_email, send.message_id, send.scheduled_for)
          = (snooze.user_email, snooze.message_id, snooze.scheduled_for)
        AND send.state = 'sent'{channel}
  )
  AND NOT EXISTS (
      SELECT 1
      FROM reminder_sends_archive AS send
      WHERE (send.user_email, send.message_id, send.scheduled_for)
          = (snooze.user_email, snooze.message_id, snooze.scheduled_for)
        AND send.state = 'sent'{channel}
  )
"""

RETURNED = """
CREATE VIEW invariant_messages_return AS
SELECT
    snooze_id,
    NULL::bigint AS send_id,
    GREATEST(returns_at, snooze_server_met()) AS since,
    'its message is not back in the inbox' AS what
FROM kept_messages
WHERE returns_at <= CURRENT_TIMESTAMP
  AND GREATEST(returns_at, snooze_server_met())
    < clock_timestamp() - snooze_term('sweep_seconds', 5) - INTERVAL '10 seconds'
"""

DOWN = """
DROP VIEW invariant_messages_return;
DROP TRIGGER kept_messages_fill_return ON kept_messages;
DROP TRIGGER email_snoozes_forget_return ON email_snoozes;
DROP TRIGGER email_snoozes_move_return ON email_snoozes;
DROP TRIGGER email_snoozes_promise_return ON email_snoozes;
DROP FUNCTION kept_messages_fill_return();
DROP FUNCTION email_snoozes_forget_return();
DROP FUNCTION email_snoozes_move_return();
DROP FUNCTION email_snoozes_promise_return();
DROP FUNCTION snooze_return_at(email_snoozes);
DELETE FROM reminder_sends WHERE channel = 'mailbox';
DELETE FROM reminder_sends_archive WHERE channel = 'mailbox';
ALTER TABLE reminder_sends_archive
    ALTER COLUMN claim_token SET NOT NULL,
    ALTER COLUMN reminder_message_id SET NOT NULL;
ALTER TABLE reminder_sends
    DROP CONSTRAINT ck_reminder_sends_mail_is_whole,
    DROP CONSTRAINT ck_reminder_sends_channel,
    ADD CONSTRAINT ck_reminder_sends_channel CHECK (channel IN ('email')),
    ALTER COLUMN claim_token SET NOT NULL,
    ALTER COLUMN reminder_message_id SET NOT NULL;
DROP INDEX ix_kept_messages_returns;
ALTER TABLE kept_messages
    DROP CONSTRAINT ck_kept_messages_return_is_whole,
    DROP COLUMN snooze_id,
    DROP COLUMN returns_at;
"""

_OF_MAIL, _SENDS_OF_MAIL = "\n          AND channel = 'email'", "\n        AND send.channel = 'email'"


def upgrade() -> None:
    op.execute(COLUMNS)
    op.execute(LEDGER)
    op.execute(FILL)
    op.execute(FOLLOW)
    op.execute(AS_OWNER)
    op.execute(ARCHIVED.format(channel=_OF_MAIL))
    op.execute(FINISHED.format(channel=_SENDS_OF_MAIL))
    op.execute(RETURNED)


def downgrade() -> None:
    op.execute(ARCHIVED.format(channel=""))
    op.execute(FINISHED.format(channel=""))
    op.execute(DOWN)
