"""Webhooks: what happens to a person's snoozes is posted to the endpoints that the person names.

Revision ID: 0065
Revises: 0064
"""

from alembic import op

revision = "0065"
down_revision = "0064"
branch_labels = None
depends_on = None

REFERENCE = """
ALTER TABLE email_snoozes ADD COLUMN reference TEXT;
ALTER TABLE email_snoozes_archive ADD COLUMN reference TEXT;
ALTER TABLE import_rows ADD COLUMN reference TEXT;
ALTER TABLE email_snoozes ADD CONSTRAINT ck_email_snoozes_reference CHECK (char_length(reference) <= 200) NOT VALID;
ALTER TABLE email_snoozes VALIDATE CONSTRAINT ck_email_snoozes_reference;
"""

# Secrets are encrypted. `turn_at` is when one of its deliveries was last claimed: the others' turns come first.
# Nothing is tried at an endpoint before `quiet_until`: it failed. The last answer took `answer_ms`.
TABLES = """
CREATE TABLE webhook_endpoints (
    id BIGSERIAL CONSTRAINT pk_webhook_endpoints PRIMARY KEY,
    account_id BIGINT NOT NULL CONSTRAINT fk_webhook_endpoints_account REFERENCES accounts (id) ON DELETE CASCADE,
    url TEXT NOT NULL,
    events TEXT[] NOT NULL,
    shows_subject BOOLEAN NOT NULL DEFAULT FALSE,
    secret BYTEA NOT NULL,
    previous_secret BYTEA,
    previous_until TIMESTAMPTZ,
    is_on BOOLEAN NOT NULL DEFAULT TRUE,
    off_reason TEXT,
    off_at TIMESTAMPTZ,
    failures INTEGER NOT NULL DEFAULT 0,
    quiet_until TIMESTAMPTZ,
    turn_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    answer_ms INTEGER,
    delivered_at TIMESTAMPTZ,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    CONSTRAINT uq_webhook_endpoints_url UNIQUE (account_id, url),
    CONSTRAINT ck_webhook_endpoints_events CHECK (
        cardinality(events) >= 1
        AND events <@ ARRAY['created', 'edited', 'due', 'sent', 'returned', 'done', 'cancelled', 'stuck']
    ),
    CONSTRAINT ck_webhook_endpoints_off_is_whole CHECK (
        num_nulls(off_reason, off_at) = CASE WHEN is_on THEN 2 ELSE 0 END
    ),
    CONSTRAINT ck_webhook_endpoints_previous_is_whole CHECK (num_nulls(previous_secret, previous_until) IN (0, 2))
);
CREATE INDEX ix_webhook_endpoints_on ON webhook_endpoints (turn_at, id) WHERE is_on;

-- Without foreign keys: no lock of an endpoint or a snooze is waited for where a fact is written. What they say of
-- the snooze was true with the fact, so that each try has the same body. `number` is the id on the wire.
CREATE TABLE webhook_deliveries (
    id BIGSERIAL CONSTRAINT pk_webhook_deliveries PRIMARY KEY,
    number UUID NOT NULL DEFAULT gen_random_uuid(),
    endpoint_id BIGINT NOT NULL,
    account_id BIGINT NOT NULL,
    event TEXT NOT NULL,
    snooze_id BIGINT,
    repeats BOOLEAN NOT NULL DEFAULT FALSE,
    scheduled_for TIMESTAMPTZ,
    remind_at TIMESTAMPTZ,
    reference TEXT,
    subject TEXT,
    occurred_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    state TEXT NOT NULL DEFAULT 'waiting',
    claim_token UUID,
    claimed_until TIMESTAMPTZ,
    attempts INTEGER NOT NULL DEFAULT 0,
    try_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    first_tried_at TIMESTAMPTZ,
    tried_at TIMESTAMPTZ,
    finished_at TIMESTAMPTZ,
    status INTEGER,
    reason TEXT,
    answer TEXT,
    answer_ms INTEGER,
    CONSTRAINT uq_webhook_deliveries_number UNIQUE (number),
    CONSTRAINT ck_webhook_deliveries_state CHECK (state IN ('waiting', 'delivered', 'failed')),
    CONSTRAINT ck_webhook_deliveries_claim_is_whole CHECK (num_nulls(claim_token, claimed_until) IN (0, 2)),
    CONSTRAINT ck_webhook_deliveries_claimed_waits CHECK (claim_token IS NULL OR state = 'waiting'),
    CONSTRAINT ck_webhook_deliveries_finished_is_dated CHECK ((state = 'waiting') = (finished_at IS NULL))
);
-- What is due is entered once for each promise, however often its row is claimed.
CREATE UNIQUE INDEX uq_webhook_deliveries_due ON webhook_deliveries (endpoint_id, snooze_id, scheduled_for)
    WHERE event = 'due';
CREATE INDEX ix_webhook_deliveries_waiting ON webhook_deliveries (endpoint_id, try_at, id) WHERE state = 'waiting';
CREATE INDEX ix_webhook_deliveries_order ON webhook_deliveries (endpoint_id, snooze_id, id) WHERE state = 'waiting';
CREATE INDEX ix_webhook_deliveries_claimed ON webhook_deliveries (endpoint_id) WHERE claim_token IS NOT NULL;
CREATE INDEX ix_webhook_deliveries_try ON webhook_deliveries (try_at) WHERE state = 'waiting';
CREATE INDEX ix_webhook_deliveries_endpoint ON webhook_deliveries (endpoint_id, id);
CREATE INDEX ix_webhook_deliveries_account ON webhook_deliveries (account_id);
CREATE INDEX ix_webhook_deliveries_occurred ON webhook_deliveries (occurred_at);
"""

# Each event is entered by a trigger, in the transaction of its fact. Where no endpoint is on, a statement pays for one
# look at an empty table. With SECURITY DEFINER where a producer of the seed's rights writes.
ENTER = """
CREATE FUNCTION webhook_enter(
    person TEXT, event TEXT, snooze BIGINT, repeats BOOLEAN, promise TIMESTAMPTZ, remind_at TIMESTAMPTZ, reference TEXT,
    subject TEXT
) RETURNS VOID
LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO webhook_deliveries (
        endpoint_id, account_id, event, snooze_id, repeats, scheduled_for, remind_at, reference, subject
    )
    SELECT
        endpoint.id, endpoint.account_id, webhook_enter.event, webhook_enter.snooze, webhook_enter.repeats,
        webhook_enter.promise, webhook_enter.remind_at, webhook_enter.reference,
        CASE WHEN endpoint.shows_subject THEN webhook_enter.subject END
    FROM accounts
    JOIN webhook_endpoints AS endpoint ON endpoint.account_id = accounts.id
    WHERE accounts.email = lower(person)
      AND accounts.disabled_at IS NULL
      AND endpoint.is_on
      AND webhook_enter.event = ANY(endpoint.events)
    ORDER BY endpoint.id
    ON CONFLICT DO NOTHING;
END
$$;
"""

SNOOZES = """
CREATE FUNCTION email_snoozes_webhook_insert() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM webhook_endpoints WHERE is_on) THEN
        RETURN NULL;
    END IF;
    PERFORM webhook_enter(
        fresh.user_email, 'created', fresh.id, COALESCE(jsonb_typeof(fresh.recurrence), 'null') <> 'null',
        COALESCE(fresh.scheduled_for, fresh.remind_at), fresh.remind_at, fresh.reference, fresh.subject
    )
    FROM (
        SELECT *
        FROM fresh
        WHERE outcome IS NULL
          AND lower(user_email) IN (
              SELECT accounts.email
              FROM webhook_endpoints AS endpoint
              JOIN accounts ON accounts.id = endpoint.account_id
              WHERE endpoint.is_on
          )
        ORDER BY id
    ) AS fresh;
    RETURN NULL;
END
$$;

CREATE TRIGGER email_snoozes_webhook_insert
AFTER INSERT ON email_snoozes
REFERENCING NEW TABLE AS fresh
FOR EACH STATEMENT
EXECUTE FUNCTION email_snoozes_webhook_insert();

CREATE FUNCTION email_snoozes_webhook_update() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM webhook_endpoints WHERE is_on) THEN
        RETURN NULL;
    END IF;
    PERFORM webhook_enter(
        changed.user_email, changed.event, changed.id, COALESCE(jsonb_typeof(changed.recurrence), 'null') <> 'null',
        COALESCE(changed.scheduled_for, changed.remind_at), changed.remind_at, changed.reference, changed.subject
    )
    FROM (
        SELECT
            fresh.*,
            CASE
                WHEN fresh.outcome IS DISTINCT FROM gone.outcome THEN
                    CASE
                        WHEN fresh.outcome = 'cancelled' THEN 'cancelled'
                        WHEN fresh.outcome = 'retired' THEN 'stuck'
                        WHEN fresh.outcome IS NULL THEN 'edited'
                    END
                WHEN fresh.outcome IS NOT NULL THEN NULL
                WHEN fresh.claimed_at IS NOT NULL AND gone.claimed_at IS NULL THEN 'due'
                -- What repeats was sent, and is promised anew: that is no edit.
                WHEN fresh.recurrence IS NOT NULL
                    AND gone.claimed_at IS NOT NULL
                    AND fresh.remind_at > gone.scheduled_for
                    AND fresh.recurrence = gone.recurrence
                    AND EXISTS (
                        SELECT 1
                        FROM reminder_sends AS send
                        WHERE send.user_email = gone.user_email
                          AND send.message_id = gone.message_id
                          AND send.scheduled_for = gone.scheduled_for
                          AND send.state = 'sent'
                    )
                    THEN NULL
                WHEN (
                    COALESCE(fresh.scheduled_for, fresh.remind_at), fresh.recurrence, fresh.subject, fresh.note,
                    fresh.reference, fresh.reply_policy, fresh.reply_scope, fresh.at_any_hour,
                    fresh.inactive AND fresh.paused_by IS NULL
                ) IS DISTINCT FROM (
                    COALESCE(gone.scheduled_for, gone.remind_at), gone.recurrence, gone.subject, gone.note,
                    gone.reference, gone.reply_policy, gone.reply_scope, gone.at_any_hour,
                    gone.inactive AND gone.paused_by IS NULL
                ) THEN 'edited'
            END AS event
        FROM fresh
        JOIN gone ON gone.id = fresh.id
        WHERE lower(fresh.user_email) IN (
            SELECT accounts.email
            FROM webhook_endpoints AS endpoint
            JOIN accounts ON accounts.id = endpoint.account_id
            WHERE endpoint.is_on
        )
        ORDER BY fresh.id
    ) AS changed
    WHERE changed.event IS NOT NULL;
    RETURN NULL;
END
$$;

CREATE TRIGGER email_snoozes_webhook_update
AFTER UPDATE ON email_snoozes
REFERENCING OLD TABLE AS gone NEW TABLE AS fresh
FOR EACH STATEMENT
EXECUTE FUNCTION email_snoozes_webhook_update();
"""

SENDS = """
CREATE FUNCTION reminder_sends_webhook() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM webhook_endpoints WHERE is_on) THEN
        RETURN NULL;
    END IF;
    IF NOT EXISTS (
        SELECT 1
        FROM accounts
        JOIN webhook_endpoints AS endpoint ON endpoint.account_id = accounts.id
        WHERE accounts.email = lower(NEW.user_email)
          AND endpoint.is_on
    ) THEN
        RETURN NULL;
    END IF;
    PERFORM webhook_enter(
        NEW.user_email, CASE NEW.channel WHEN 'email' THEN 'sent' ELSE 'returned' END, NEW.snooze_id,
        COALESCE(jsonb_typeof(snooze.recurrence), 'null') <> 'null', NEW.scheduled_for, NULL, snooze.reference,
        snooze.subject
    )
    FROM email_snoozes AS snooze
    WHERE snooze.id = NEW.snooze_id;
    RETURN NULL;
END
$$;

CREATE TRIGGER reminder_sends_webhook_return
AFTER INSERT ON reminder_sends
FOR EACH ROW
WHEN (
    NEW.channel = 'mailbox'
    AND NEW.state = 'sent'
    AND NEW.sent_at > clock_timestamp() - INTERVAL '1 hour'
)
EXECUTE FUNCTION reminder_sends_webhook();

CREATE TRIGGER reminder_sends_webhook_reminder
AFTER UPDATE ON reminder_sends
FOR EACH ROW
WHEN (NEW.channel = 'email' AND NEW.state = 'sent' AND OLD.state <> 'sent')
EXECUTE FUNCTION reminder_sends_webhook();
"""

# A message that is back is done where Snoozer keeps it; elsewhere its reminder's link says so.
DONE = """
CREATE FUNCTION webhook_enter_done(person TEXT, message TEXT, snooze BIGINT) RETURNS VOID
LANGUAGE plpgsql
AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM webhook_endpoints WHERE is_on) THEN
        RETURN;
    END IF;
    PERFORM webhook_enter(
        person, 'done', send.snooze_id, COALESCE(jsonb_typeof(its.recurrence), 'null') <> 'null', send.scheduled_for,
        NULL, its.reference, its.subject
    )
    FROM (
        SELECT reminder_sends.snooze_id, reminder_sends.scheduled_for
        FROM reminder_sends
        WHERE reminder_sends.user_email = person
          AND reminder_sends.message_id = message
          AND (snooze IS NULL OR reminder_sends.snooze_id = snooze)
        ORDER BY reminder_sends.scheduled_for DESC
        LIMIT 1
    ) AS send
    JOIN email_snoozes AS its ON its.id = send.snooze_id;
END
$$;

CREATE FUNCTION kept_messages_webhook_done() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM webhook_enter_done(NEW.user_email, NEW.message_id, NULL);
    RETURN NULL;
END
$$;

CREATE TRIGGER kept_messages_webhook_done
AFTER UPDATE OF folder ON kept_messages
FOR EACH ROW
WHEN (NEW.folder = 'done' AND OLD.folder <> 'done')
EXECUTE FUNCTION kept_messages_webhook_done();

CREATE FUNCTION snooze_events_webhook_done() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM webhook_enter_done(snooze.user_email, snooze.message_id, snooze.id)
    FROM email_snoozes AS snooze
    WHERE snooze.id = NEW.snooze_id
      AND NOT EXISTS (
          SELECT 1
          FROM kept_messages AS kept
          WHERE kept.user_email = snooze.user_email
            AND kept.message_id = snooze.message_id
      );
    RETURN NULL;
END
$$;

CREATE TRIGGER snooze_events_webhook_done
AFTER INSERT ON snooze_events
FOR EACH ROW
WHEN (NEW.kind = 'done')
EXECUTE FUNCTION snooze_events_webhook_done();
"""

# As with other triggers on the table that producers write: their role has no right to ours.
DEFINER = """
DO $$
DECLARE
    name TEXT;
BEGIN
    FOREACH name IN ARRAY ARRAY['email_snoozes_webhook_insert', 'email_snoozes_webhook_update'] LOOP
        EXECUTE format(
            'ALTER FUNCTION %I() SECURITY DEFINER SET search_path = %I, pg_temp', name, current_schema()
        );
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %I() FROM PUBLIC', name);
    END LOOP;
END
$$;
"""

DOWN = """
DROP TRIGGER snooze_events_webhook_done ON snooze_events;
DROP TRIGGER kept_messages_webhook_done ON kept_messages;
DROP TRIGGER reminder_sends_webhook_reminder ON reminder_sends;
DROP TRIGGER reminder_sends_webhook_return ON reminder_sends;
DROP TRIGGER email_snoozes_webhook_update ON email_snoozes;
DROP TRIGGER email_snoozes_webhook_insert ON email_snoozes;
DROP FUNCTION snooze_events_webhook_done();
DROP FUNCTION kept_messages_webhook_done();
DROP FUNCTION webhook_enter_done(TEXT, TEXT, BIGINT);
DROP FUNCTION reminder_sends_webhook();
DROP FUNCTION email_snoozes_webhook_update();
DROP FUNCTION email_snoozes_webhook_insert();
DROP FUNCTION webhook_enter(TEXT, TEXT, BIGINT, BOOLEAN, TIMESTAMPTZ, TIMESTAMPTZ, TEXT, TEXT);
DROP TABLE webhook_deliveries;
DROP TABLE webhook_endpoints;
ALTER TABLE import_rows DROP COLUMN reference;
ALTER TABLE email_snoozes_archive DROP COLUMN reference;
ALTER TABLE email_snoozes DROP COLUMN reference;
"""


def upgrade() -> None:
    for statement in (REFERENCE, TABLES, ENTER, SNOOZES, SENDS, DONE, DEFINER):
        op.execute(statement)


def downgrade() -> None:
    op.execute(DOWN)
