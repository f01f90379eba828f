"""What a person chooses for a connected mailbox: what brings a message back, and a flag that snoozes.

Revision ID: 0033
Revises: 0032
"""

from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

# `snooze_flag` is a flag of IMAP that snoozes what carries it in the inbox, to `snooze_flag_time`, the name of a preset
# or a phrase. What carried it before is in `mailbox_flagged`, noted by the process that watches the mailbox.
CHOICES = r"""
ALTER TABLE mailboxes
    ADD COLUMN brings_back TEXT NOT NULL DEFAULT 'both'
        CONSTRAINT ck_mailboxes_brings_back CHECK (brings_back IN ('return', 'reminder', 'both')),
    ADD COLUMN snooze_flag TEXT
        CONSTRAINT ck_mailboxes_snooze_flag CHECK (snooze_flag ~ '^(\\Flagged|[$A-Za-z0-9_-]{1,60})$'),
    ADD COLUMN snooze_flag_time TEXT,
    ADD COLUMN flagged_noted_at TIMESTAMPTZ,
    ADD COLUMN flagged_uidvalidity BIGINT,
    ADD CONSTRAINT ck_mailboxes_flag_has_its_time CHECK (num_nulls(snooze_flag, snooze_flag_time) IN (0, 2)),
    ADD CONSTRAINT ck_mailboxes_flagged_is_whole CHECK (num_nulls(flagged_noted_at, flagged_uidvalidity) IN (0, 2));

CREATE TABLE mailbox_flagged (
    mailbox_id BIGINT NOT NULL CONSTRAINT fk_mailbox_flagged_mailbox REFERENCES mailboxes (id) ON DELETE CASCADE,
    uid BIGINT NOT NULL,
    CONSTRAINT pk_mailbox_flagged PRIMARY KEY (mailbox_id, uid)
);

ALTER TABLE mailbox_messages
    ADD COLUMN returns BOOLEAN NOT NULL DEFAULT TRUE,
    ADD CONSTRAINT ck_mailbox_messages_what_stays_has_no_return CHECK (returns OR returns_at IS NULL);
"""

# A message of which only the reminder comes has no return, whatever becomes of its snooze, until it is snoozed anew.
STAY = """
CREATE FUNCTION mailbox_messages_stay() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    IF NEW.wanted = 'snoozed' AND NOT OLD.returns THEN
        NEW.returns := TRUE;
        NEW.home := 'INBOX';
        SELECT snooze_return_at(snooze), CASE WHEN snooze_return_at(snooze) IS NOT NULL THEN snooze.id END
        INTO NEW.returns_at, NEW.snooze_id
        FROM email_snoozes AS snooze
        WHERE snooze.user_email = NEW.user_email
          AND snooze.message_id = NEW.message_id
          AND NOT snooze.inactive;
    ELSE
        NEW.returns_at := NULL;
        NEW.snooze_id := NULL;
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER mailbox_messages_stay
BEFORE UPDATE ON mailbox_messages
FOR EACH ROW
WHEN (NOT OLD.returns OR NOT NEW.returns)
EXECUTE FUNCTION mailbox_messages_stay();
"""

# Asked for a promise that is due, before its reminder is reserved: 'returned' where the return alone keeps it, because
# the message is back and its owner wants no reminder beside it; 'awaited' for a quarter of an hour while it may still
# come back by itself; NULL where a reminder is to be sent.
ALONE = """
CREATE FUNCTION snooze_return_alone(person TEXT, message TEXT, promise TIMESTAMPTZ) RETURNS TEXT
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    entry RECORD;
BEGIN
    SELECT its.returns_at, mailbox.state, mailbox.problem
    INTO entry
    FROM mailbox_messages AS its
    JOIN mailboxes AS mailbox ON mailbox.id = its.mailbox_id
    WHERE its.user_email = person
      AND its.message_id = message
      AND mailbox.brings_back = 'return';
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF EXISTS (
        SELECT 1
        FROM reminder_sends
        WHERE user_email = person
          AND message_id = message
          AND scheduled_for = promise
          AND channel = 'mailbox'
    ) THEN
        RETURN 'returned';
    END IF;
    IF entry.returns_at = promise
        AND entry.state = 'active'
        AND entry.problem IS NULL
        AND GREATEST(promise, snooze_server_met()) > clock_timestamp() - INTERVAL '15 minutes'
    THEN
        RETURN 'awaited';
    END IF;
    RETURN NULL;
END
$$;
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
        AND send.state = 'sent'
        AND {proves}
  )
  AND NOT EXISTS (
      SELECT 1
      FROM reminder_sends_archive AS send
      WHERE (send.user_email, send.message_id, send.scheduled_for)
          = (snooze.user_email, snooze.message_id, snooze.scheduled_for)
        AND send.state = 'sent'
        AND {proves}
  )
"""
_A_MAIL, _OR_A_RETURN_ALONE = "send.channel = 'email'", "(send.channel = 'email' OR send.resolution = 'alone')"

DOWN = """
DROP FUNCTION snooze_return_alone(TEXT, TEXT, TIMESTAMPTZ);
DROP TRIGGER mailbox_messages_stay ON mailbox_messages;
DROP FUNCTION mailbox_messages_stay();
ALTER TABLE mailbox_messages DROP COLUMN returns;
DROP TABLE mailbox_flagged;
ALTER TABLE mailboxes
    DROP COLUMN flagged_uidvalidity,
    DROP COLUMN flagged_noted_at,
    DROP COLUMN snooze_flag_time,
    DROP COLUMN snooze_flag,
    DROP COLUMN brings_back;
"""


def upgrade() -> None:
    op.execute(CHOICES)
    op.execute(STAY)
    op.execute(ALONE)
    op.execute(FINISHED.format(proves=_OR_A_RETURN_ALONE))


def downgrade() -> None:
    op.execute(FINISHED.format(proves=_A_MAIL))
    op.execute(DOWN)
