"""What a reply to a snoozed message does; up to where the inbox of a connected mailbox was read for replies; and
whether reminders are sought in it.

Revision ID: 0031
Revises: 0030
"""

from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

# `reply_policy` has been there since 0001, without a use: what other programs wrote into it must not stop this. NULL is
# keep, and message. `reply_since` is when the person chose it: replies from before do not count.
SNOOZES = """
ALTER TABLE email_snoozes
    ADD COLUMN reply_scope TEXT,
    ADD COLUMN reply_since TIMESTAMPTZ;
ALTER TABLE email_snoozes_archive
    ADD COLUMN reply_scope TEXT,
    ADD COLUMN reply_since TIMESTAMPTZ;
UPDATE email_snoozes
SET reply_policy = NULL
WHERE reply_policy NOT IN ('keep', 'cancel_on_reply', 'until_reply');
ALTER TABLE email_snoozes
    ADD CONSTRAINT ck_email_snoozes_reply_policy
        CHECK (reply_policy IN ('keep', 'cancel_on_reply', 'until_reply')),
    ADD CONSTRAINT ck_email_snoozes_reply_scope
        CHECK (reply_scope IN ('message', 'thread'));
CREATE INDEX ix_email_snoozes_reply ON email_snoozes (user_email)
    WHERE NOT inactive AND reply_policy IN ('cancel_on_reply', 'until_reply');
"""

# `replies_uidnext` is the first UID of the inbox that was not read for replies, as of `replies_read_at`; all three are
# NULL while no snooze of the mailbox's owner waits for one. `thread_ids` are as those of kept messages.
MAILBOXES = """
ALTER TABLE mailboxes
    ADD COLUMN replies_uidvalidity BIGINT,
    ADD COLUMN replies_uidnext BIGINT,
    ADD COLUMN replies_read_at TIMESTAMPTZ,
    ADD CONSTRAINT ck_mailboxes_replies_are_whole
        CHECK (num_nulls(replies_uidvalidity, replies_uidnext, replies_read_at) IN (0, 3));
ALTER TABLE mailbox_messages ADD COLUMN thread_ids TEXT;
"""

# A reminder that may have been sent is sought in the mailbox that it went to, where that is connected, works and is
# watched. A search that does not come to an end holds nothing back for ever.
SEARCHES = """
CREATE FUNCTION snooze_reminder_is_sought(recipient TEXT, uncertain_at TIMESTAMPTZ, hold INTERVAL) RETURNS BOOLEAN
LANGUAGE sql STABLE
AS $$
    SELECT uncertain_at > clock_timestamp() - 2 * hold - INTERVAL '1 hour'
        AND EXISTS (
            SELECT 1
            FROM accounts AS account
            JOIN mailboxes AS mailbox ON mailbox.account_id = account.id
            WHERE account.email = recipient
              AND account.disabled_at IS NULL
              AND lower(mailbox.address) = account.email
              AND mailbox.state = 'active'
              AND mailbox.problem IS NULL
              AND mailbox.synced_at IS NOT NULL
              AND mailbox.owned_until > clock_timestamp()
        )
$$;
"""

DOWN = """
DROP FUNCTION snooze_reminder_is_sought(TEXT, TIMESTAMPTZ, INTERVAL);
ALTER TABLE mailbox_messages DROP COLUMN thread_ids;
ALTER TABLE mailboxes
    DROP CONSTRAINT ck_mailboxes_replies_are_whole,
    DROP COLUMN replies_read_at,
    DROP COLUMN replies_uidnext,
    DROP COLUMN replies_uidvalidity;
DROP INDEX ix_email_snoozes_reply;
ALTER TABLE email_snoozes
    DROP CONSTRAINT ck_email_snoozes_reply_scope,
    DROP CONSTRAINT ck_email_snoozes_reply_policy;
ALTER TABLE email_snoozes_archive DROP COLUMN reply_since, DROP COLUMN reply_scope;
ALTER TABLE email_snoozes DROP COLUMN reply_since, DROP COLUMN reply_scope;
"""


def upgrade() -> None:
    op.execute(SNOOZES)
    op.execute(MAILBOXES)
    op.execute(SEARCHES)


def downgrade() -> None:
    op.execute(DOWN)
