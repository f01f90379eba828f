"""Devices that are told by Web Push that a message is back, and the ledger of what was pushed to them.

Revision ID: 0039
Revises: 0038
"""

from alembic import op

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None

# `private_key` is encrypted. A device was subscribed with one pair of keys, and takes pushes that it signs. No push is
# tried for a device before `quiet_until`: its push service was away.
TABLES = """
CREATE TABLE push_keys (
    id BIGSERIAL CONSTRAINT pk_push_keys PRIMARY KEY,
    public_key BYTEA NOT NULL,
    private_key BYTEA NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

CREATE TABLE push_devices (
    id BIGSERIAL CONSTRAINT pk_push_devices PRIMARY KEY,
    account_id BIGINT NOT NULL CONSTRAINT fk_push_devices_account REFERENCES accounts (id) ON DELETE CASCADE,
    key_id BIGINT NOT NULL CONSTRAINT fk_push_devices_key REFERENCES push_keys (id),
    name TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    public_key BYTEA NOT NULL,
    auth_secret BYTEA NOT NULL,
    shows_subject BOOLEAN NOT NULL DEFAULT FALSE,
    problem TEXT,
    failures INTEGER NOT NULL DEFAULT 0,
    quiet_until TIMESTAMPTZ,
    sent_at TIMESTAMPTZ,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    CONSTRAINT uq_push_devices_endpoint UNIQUE (endpoint),
    CONSTRAINT ck_push_devices_keys CHECK (octet_length(public_key) = 65 AND octet_length(auth_secret) = 16)
);
CREATE INDEX ix_push_devices_account ON push_devices (account_id);

-- Without foreign keys: a row stays when its device or snooze is gone, and no lock of theirs is waited for where the
-- fact of a return is written. It holds nothing of a message but its snooze's number.
CREATE TABLE push_sends (
    id BIGSERIAL CONSTRAINT pk_push_sends PRIMARY KEY,
    device_id BIGINT NOT NULL,
    account_id BIGINT NOT NULL,
    snooze_id BIGINT NOT NULL,
    scheduled_for TIMESTAMPTZ NOT NULL,
    state TEXT NOT NULL DEFAULT 'reserved',
    claim_token UUID,
    claimed_until TIMESTAMPTZ,
    attempts INTEGER NOT NULL DEFAULT 0,
    try_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    marked_at TIMESTAMPTZ,
    finished_at TIMESTAMPTZ,
    status INTEGER,
    reason TEXT,
    CONSTRAINT uq_push_sends_promise UNIQUE (device_id, snooze_id, scheduled_for),
    CONSTRAINT ck_push_sends_state CHECK (state IN ('reserved', 'sending', 'sent', 'failed', 'uncertain')),
    CONSTRAINT ck_push_sends_claim_is_whole CHECK (num_nulls(claim_token, claimed_until) IN (0, 2)),
    CONSTRAINT ck_push_sends_sending_is_marked CHECK (state <> 'sending' OR marked_at IS NOT NULL),
    CONSTRAINT ck_push_sends_finished_is_dated CHECK (
        (state IN ('sent', 'failed', 'uncertain')) = (finished_at IS NOT NULL)
    )
);
CREATE INDEX ix_push_sends_due ON push_sends (try_at, id) WHERE state = 'reserved';
CREATE INDEX ix_push_sends_open ON push_sends (account_id) WHERE state IN ('reserved', 'sending');
CREATE INDEX ix_push_sends_created ON push_sends (created_at);
"""

# The push follows the fact that a message is back, in the transaction that writes the fact: the return of the message,
# or the acceptance of its reminder where no return is awaited. It is late news after an hour, so neither what was
# imported nor what is known only now of an earlier time is pushed. Names have no schema: the search path has ours.
TRIGGER = """
CREATE FUNCTION reminder_sends_push() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    IF NOT EXISTS (
        SELECT 1
        FROM push_devices AS device
        JOIN accounts ON accounts.id = device.account_id
        WHERE accounts.email = lower(NEW.user_email)
          AND accounts.disabled_at IS NULL
    ) THEN
        RETURN NULL;
    END IF;
    IF NEW.channel = 'email' AND (
        EXISTS (
            SELECT 1
            FROM reminder_sends AS back
            WHERE back.user_email = NEW.user_email
              AND back.message_id = NEW.message_id
              AND back.scheduled_for = NEW.scheduled_for
              AND back.channel = 'mailbox'
        )
        OR EXISTS (
            SELECT 1
            FROM kept_messages AS kept
            WHERE kept.user_email = NEW.user_email
              AND kept.message_id = NEW.message_id
              AND kept.returns_at = NEW.scheduled_for
        )
        OR EXISTS (
            SELECT 1
            FROM mailbox_messages AS its
            JOIN mailboxes AS mailbox ON mailbox.id = its.mailbox_id
            WHERE its.user_email = NEW.user_email
              AND its.message_id = NEW.message_id
              AND its.returns_at = NEW.scheduled_for
              AND its.place <> 'missing'
              AND mailbox.state = 'active'
              AND mailbox.problem IS NULL
        )
    ) THEN
        RETURN NULL;
    END IF;
    INSERT INTO push_sends (device_id, account_id, snooze_id, scheduled_for, try_at, expires_at)
    SELECT
        device.id,
        device.account_id,
        NEW.snooze_id,
        NEW.scheduled_for,
        GREATEST(clock_timestamp(), device.quiet_until),
        clock_timestamp() + INTERVAL '4 hours'
    FROM push_devices AS device
    JOIN accounts ON accounts.id = device.account_id
    WHERE accounts.email = lower(NEW.user_email)
    ORDER BY device.id
    ON CONFLICT ON CONSTRAINT uq_push_sends_promise DO NOTHING;
    RETURN NULL;
END
$$;

CREATE TRIGGER reminder_sends_push_return
AFTER INSERT ON reminder_sends
FOR EACH ROW
WHEN (
    NEW.channel = 'mailbox'
    AND NEW.state = 'sent'
    AND NEW.sent_at > clock_timestamp() - INTERVAL '1 hour'
)
EXECUTE FUNCTION reminder_sends_push();

CREATE TRIGGER reminder_sends_push_reminder
AFTER UPDATE ON reminder_sends
FOR EACH ROW
WHEN (
    NEW.channel = 'email'
    AND NEW.state = 'sent'
    AND OLD.state <> 'sent'
    AND NEW.resolution IS DISTINCT FROM 'answered'
    AND NEW.sent_at > clock_timestamp() - INTERVAL '1 hour'
)
EXECUTE FUNCTION reminder_sends_push();
"""

DOWN = """
DROP TRIGGER reminder_sends_push_reminder ON reminder_sends;
DROP TRIGGER reminder_sends_push_return ON reminder_sends;
DROP FUNCTION reminder_sends_push();
DROP TABLE push_sends;
DROP TABLE push_devices;
DROP TABLE push_keys;
"""


def upgrade() -> None:
    op.execute(TABLES)
    op.execute(TRIGGER)


def downgrade() -> None:
    op.execute(DOWN)
