"""One table of messages: those that Snoozer keeps and those of connected mailboxes, which have a `mailbox_id`.

The originals of kept messages stay where they are, in the table that is `message_originals` now: no bytes of a mail are
written again. The rows are counted before and after, and where a count differs nothing is changed.

Revision ID: 0074
Revises: 0073
"""

from alembic import op
from sqlalchemy import text

revision = "0074"
down_revision = "0073"
branch_labels = None
depends_on = None

COUNTED_BEFORE = """
SELECT 'kept' AS what, count(*) AS rows FROM kept_messages
UNION ALL SELECT 'kept, to return', count(returns_at) FROM kept_messages
UNION ALL SELECT 'originals', count(original) FROM kept_messages
UNION ALL SELECT 'bytes of originals', COALESCE(sum(octet_length(original)), 0) FROM kept_messages
UNION ALL SELECT 'connected', count(*) FROM mailbox_messages
UNION ALL SELECT 'connected, to return', count(returns_at) FROM mailbox_messages
"""
COUNTED_AFTER = """
SELECT 'kept' AS what, count(*) AS rows FROM messages WHERE is_kept
UNION ALL SELECT 'kept, to return', count(returns_at) FROM messages WHERE is_kept
UNION ALL SELECT 'originals', count(original) FROM messages JOIN message_originals USING (id) WHERE is_kept
UNION ALL SELECT 'bytes of originals', COALESCE(sum(size), 0) FROM messages WHERE is_kept
UNION ALL SELECT 'connected', count(*) FROM messages WHERE NOT is_kept
UNION ALL SELECT 'connected, to return', count(returns_at) FROM messages WHERE NOT is_kept
"""

# Columns of both kinds come first, then those of kept messages, then those of connected mailboxes.
TABLE = """
CREATE TABLE messages (
    id BIGINT NOT NULL,
    mailbox_id BIGINT,
    is_kept BOOLEAN NOT NULL GENERATED ALWAYS AS (mailbox_id IS NULL) STORED,
    user_email TEXT NOT NULL,
    message_id TEXT NOT NULL,
    thread_ids TEXT,
    folder TEXT NOT NULL,
    size BIGINT NOT NULL,
    arrived_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    updated_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    returns_at TIMESTAMPTZ,
    snooze_id BIGINT,
    deferred_until TIMESTAMPTZ,
    sha256 TEXT,
    subject TEXT,
    sender_name TEXT,
    sender_email TEXT,
    sent_at TIMESTAMPTZ,
    snippet TEXT,
    unread BOOLEAN,
    returned BOOLEAN,
    surfaced_at TIMESTAMPTZ,
    header_id TEXT,
    fingerprint TEXT,
    internal_date TIMESTAMPTZ,
    returns BOOLEAN NOT NULL DEFAULT TRUE,
    home TEXT,
    aside TEXT,
    place TEXT,
    wanted TEXT,
    uidvalidity BIGINT,
    uid BIGINT,
    missing_since TIMESTAMPTZ,
    moving_to TEXT,
    target_folder TEXT,
    target_uidvalidity BIGINT,
    target_uidnext BIGINT
);
"""

# Messages of mailboxes get ids above all that were in use: a process that still knows an old id finds nothing by it.
ROWS = """
INSERT INTO messages (
    id, user_email, message_id, thread_ids, folder, size, arrived_at, returns_at, snooze_id, deferred_until,
    sha256, subject, sender_name, sender_email, sent_at, snippet, unread, returned, surfaced_at
)
SELECT
    id, user_email, message_id, thread_ids, folder, octet_length(original), arrived_at, returns_at, snooze_id,
    deferred_until, sha256, subject, sender_name, sender_email, sent_at, snippet, unread, returned, surfaced_at
FROM message_originals;

CREATE TEMPORARY TABLE shifted ON COMMIT DROP AS
SELECT GREATEST(
    (SELECT COALESCE(max(id), 0) FROM message_originals), (SELECT COALESCE(max(id), 0) FROM mailbox_messages)
) AS by;

INSERT INTO messages (
    id, mailbox_id, user_email, message_id, thread_ids, folder, size, arrived_at, updated_at, returns_at, snooze_id,
    deferred_until, header_id, fingerprint, internal_date, returns, home, aside, place, wanted, uidvalidity, uid,
    missing_since, moving_to, target_folder, target_uidvalidity, target_uidnext
)
SELECT
    id + shifted.by, mailbox_id, user_email, message_id, thread_ids, folder, size, created_at, updated_at, returns_at,
    snooze_id, deferred_until, header_id, fingerprint, internal_date, returns, home, aside, place, wanted, uidvalidity,
    uid, missing_since, moving_to, target_folder, target_uidvalidity, target_uidnext
FROM mailbox_messages
CROSS JOIN shifted;

-- What an act on many messages can be undone by: the id of a message is the first of each array.
UPDATE bulk_acts
SET before = (
    SELECT jsonb_object_agg(
        part.what,
        CASE
            WHEN part.what NOT IN ('moves', 'wanted') THEN part.its
            ELSE (
                SELECT COALESCE(jsonb_agg(jsonb_set(one, '{0}', to_jsonb(CAST(one ->> 0 AS bigint) + by))), '[]')
                FROM jsonb_array_elements(part.its) AS one
                CROSS JOIN shifted
            )
        END
    )
    FROM jsonb_each(before) AS part (what, its)
)
WHERE before <> '{}';
"""

# Taken before the first change, as the tables are read and written by all processes.
LOCK = "LOCK TABLE kept_messages, mailbox_messages IN ACCESS EXCLUSIVE MODE"

ORIGINALS = """
DROP VIEW invariant_messages_return;
DROP TRIGGER kept_messages_fill_return ON kept_messages;
DROP TRIGGER kept_messages_forget_deferral ON kept_messages;
DROP TRIGGER kept_messages_note_delete ON kept_messages;
DROP TRIGGER kept_messages_note_insert ON kept_messages;
DROP TRIGGER kept_messages_note_update ON kept_messages;
DROP TRIGGER kept_messages_webhook_done ON kept_messages;
ALTER TABLE kept_messages RENAME TO message_originals;
ALTER TABLE message_originals RENAME CONSTRAINT pk_kept_messages TO pk_message_originals;
"""

NARROW = """
ALTER SEQUENCE kept_messages_id_seq RENAME TO messages_id_seq;
ALTER TABLE message_originals
    ALTER COLUMN id DROP DEFAULT,
    DROP COLUMN user_email,
    DROP COLUMN message_id,
    DROP COLUMN sha256,
    DROP COLUMN subject,
    DROP COLUMN sender_name,
    DROP COLUMN sender_email,
    DROP COLUMN sent_at,
    DROP COLUMN folder,
    DROP COLUMN unread,
    DROP COLUMN arrived_at,
    DROP COLUMN surfaced_at,
    DROP COLUMN returned,
    DROP COLUMN thread_ids,
    DROP COLUMN returns_at,
    DROP COLUMN snooze_id,
    DROP COLUMN deferred_until,
    DROP COLUMN snippet;
DROP TABLE mailbox_messages;
DROP TRIGGER email_snoozes_promise_mailbox_return ON email_snoozes;
DROP TRIGGER email_snoozes_move_mailbox_return ON email_snoozes;
DROP TRIGGER email_snoozes_move_return ON email_snoozes;
DROP TRIGGER email_snoozes_forget_mailbox_return ON email_snoozes;
DROP FUNCTION email_snoozes_promise_mailbox_return();
DROP FUNCTION email_snoozes_move_mailbox_return();
DROP FUNCTION email_snoozes_forget_mailbox_return();
DROP FUNCTION kept_messages_fill_return();
DROP FUNCTION kept_messages_note_update();
DROP FUNCTION kept_messages_webhook_done();
DROP FUNCTION mailbox_messages_note_update();
DROP FUNCTION mailbox_messages_stay();
DROP FUNCTION mailbox_messages_webhook_done();
"""

# A person's message may be kept here and lie in one mailbox. The kept one comes first in the index: rows are locked in
# that order. Returns of both kinds are found by one index, each without the other's.
KEYS = """
ALTER TABLE messages
    ALTER COLUMN id SET DEFAULT nextval('messages_id_seq'),
    ADD CONSTRAINT pk_messages PRIMARY KEY (id),
    ADD CONSTRAINT fk_messages_mailbox FOREIGN KEY (mailbox_id) REFERENCES mailboxes (id) ON DELETE CASCADE,
    ADD CONSTRAINT ck_messages_kept_is_whole CHECK (
        NOT is_kept OR num_nulls(sha256, unread, returned, surfaced_at) = 0
    ),
    ADD CONSTRAINT ck_messages_connected_is_whole CHECK (
        is_kept OR num_nulls(fingerprint, internal_date, home, place, wanted, uidvalidity, uid) = 0
    ),
    ADD CONSTRAINT ck_messages_folder CHECK (NOT is_kept OR folder IN ('inbox', 'snoozed', 'done', 'reminders')),
    ADD CONSTRAINT ck_messages_return_is_whole CHECK (num_nulls(returns_at, snooze_id) IN (0, 2)),
    ADD CONSTRAINT ck_messages_what_stays_has_no_return CHECK (returns OR returns_at IS NULL),
    ADD CONSTRAINT ck_messages_place CHECK (place IN ('home', 'snoozed', 'aside', 'missing')),
    ADD CONSTRAINT ck_messages_wanted CHECK (wanted IN ('home', 'snoozed', 'aside')),
    ADD CONSTRAINT ck_messages_moving_to CHECK (moving_to IN ('home', 'snoozed', 'aside')),
    ADD CONSTRAINT ck_messages_aside_has_its_folder CHECK (
        aside IS NOT NULL OR ('aside' <> place AND 'aside' <> wanted)
    ),
    ADD CONSTRAINT ck_messages_missing_has_its_time CHECK ((place = 'missing') = (missing_since IS NOT NULL)),
    ADD CONSTRAINT ck_messages_intent_is_whole CHECK (
        num_nulls(moving_to, target_folder, target_uidvalidity, target_uidnext) IN (0, 4)
    );
ALTER SEQUENCE messages_id_seq OWNED BY messages.id;
SELECT setval('messages_id_seq', GREATEST((SELECT max(id) FROM messages), 1), EXISTS (SELECT 1 FROM messages));
ALTER TABLE message_originals
    ADD CONSTRAINT fk_message_originals_message FOREIGN KEY (id) REFERENCES messages (id) ON DELETE CASCADE;
CREATE UNIQUE INDEX uq_messages_message ON messages (user_email, message_id, is_kept DESC);
CREATE UNIQUE INDEX uq_messages_uid ON messages (mailbox_id, folder, uidvalidity, uid) WHERE mailbox_id IS NOT NULL;
CREATE INDEX ix_messages_returns ON messages (is_kept, GREATEST(returns_at, deferred_until))
    WHERE returns_at IS NOT NULL;
CREATE INDEX ix_messages_work ON messages (mailbox_id) WHERE wanted <> place OR moving_to IS NOT NULL;
CREATE INDEX ix_messages_folder ON messages (user_email, folder, surfaced_at, id) INCLUDE (unread) WHERE is_kept;
CREATE INDEX ix_messages_asleep
    ON messages (user_email, COALESCE(GREATEST(returns_at, deferred_until), surfaced_at), id)
    WHERE is_kept AND folder = 'snoozed';
CREATE INDEX ix_messages_back ON messages (user_email, surfaced_at, id)
    WHERE is_kept AND returned AND unread AND folder = 'inbox';
CREATE INDEX ix_messages_sha256 ON messages (user_email, sha256) WHERE is_kept;
CREATE INDEX ix_messages_without_snippet ON messages (id) WHERE is_kept AND snippet IS NULL;
ANALYZE messages;
"""

# The return follows the promise in the transaction that makes, moves or ends it, whichever program that is.
FOLLOW = """
CREATE OR REPLACE FUNCTION email_snoozes_promise_return() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    -- Most inserts are about no message that is known, and asking costs less than an UPDATE of no row.
    IF NOT EXISTS (SELECT 1 FROM fresh JOIN messages USING (user_email, message_id)) THEN
        RETURN NULL;
    END IF;
    UPDATE messages AS message
    SET returns_at = due.at,
        snooze_id = CASE WHEN due.at IS NOT NULL THEN due.id END,
        updated_at = CURRENT_TIMESTAMP
    FROM (
        SELECT snooze.id, its.id AS its_id, snooze_return_at(snooze) AS at
        FROM fresh
        JOIN email_snoozes AS snooze ON snooze.id = fresh.id
        JOIN messages AS its ON its.user_email = fresh.user_email AND its.message_id = fresh.message_id
        WHERE NOT fresh.inactive
    ) AS due
    WHERE message.id = due.its_id;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION email_snoozes_move_return() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
DECLARE
    at TIMESTAMPTZ := CASE WHEN NOT NEW.inactive THEN snooze_return_at(NEW) END;
BEGIN
    -- What repeats is promised its next time once its reminder was sent. A message of a mailbox may not be back by
    -- then: its return comes first, and enters the next promise.
    UPDATE messages
    SET returns_at = at,
        snooze_id = CASE WHEN at IS NOT NULL THEN NEW.id END,
        folder = CASE WHEN NEW.outcome = 'cancelled' AND is_kept AND folder = 'snoozed' THEN 'inbox' ELSE folder END,
        wanted = CASE WHEN NEW.outcome = 'cancelled' AND wanted = 'snoozed' THEN 'home' ELSE wanted END,
        updated_at = CURRENT_TIMESTAMP
    WHERE user_email = NEW.user_email
      AND message_id = NEW.message_id
      AND (
          NOT NEW.inactive
          OR snooze_id = NEW.id
          OR (NEW.outcome = 'cancelled' AND returns_at IS NULL AND NOT is_kept)
      )
      AND (
          is_kept
          OR NEW.inactive
          OR NEW.recurrence IS NULL
          OR place = 'home'
          OR COALESCE(returns_at > clock_timestamp(), TRUE)
      );
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
    OR (NEW.outcome = 'cancelled' AND OLD.outcome IS NULL)
)
EXECUTE FUNCTION email_snoozes_move_return();

CREATE OR REPLACE FUNCTION email_snoozes_forget_return() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    UPDATE messages AS message
    SET returns_at = NULL,
        snooze_id = NULL,
        folder = CASE WHEN message.is_kept AND message.folder = 'snoozed' THEN 'inbox' ELSE message.folder END,
        wanted = CASE message.wanted WHEN 'snoozed' THEN 'home' ELSE message.wanted END,
        updated_at = CURRENT_TIMESTAMP
    FROM gone
    WHERE message.user_email = gone.user_email
      AND message.message_id = gone.message_id
      AND message.snooze_id = gone.id;
    RETURN NULL;
END
$$;

CREATE FUNCTION messages_fill_return() RETURNS TRIGGER
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

CREATE FUNCTION messages_stay() RETURNS TRIGGER
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

CREATE FUNCTION messages_note_update() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO list_changes (transaction_id, people)
    SELECT CAST(CAST(pg_current_xact_id() AS text) AS bigint), array_agg(DISTINCT hashtext(changed.user_email))
    FROM (
        SELECT
            id, user_email, subject, sender_name, sender_email, folder, unread, surfaced_at, returned, place, wanted,
            uidvalidity, uid, moving_to
        FROM fresh
        EXCEPT
        SELECT
            id, user_email, subject, sender_name, sender_email, folder, unread, surfaced_at, returned, place, wanted,
            uidvalidity, uid, moving_to
        FROM gone
    ) AS changed
    HAVING count(*) > 0;
    RETURN NULL;
END
$$;

CREATE FUNCTION messages_webhook_done() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM webhook_endpoints WHERE is_on) THEN
        RETURN NULL;
    END IF;
    IF NEW.is_kept THEN
        PERFORM webhook_enter_done(NEW.user_email, NEW.message_id, NULL);
        RETURN NULL;
    END IF;
    PERFORM webhook_enter_done(NEW.user_email, NEW.message_id, send.snooze_id)
    FROM (
        SELECT reminder_sends.snooze_id, reminder_sends.scheduled_for
        FROM reminder_sends
        WHERE reminder_sends.user_email = NEW.user_email
          AND reminder_sends.message_id = NEW.message_id
        ORDER BY reminder_sends.scheduled_for DESC
        LIMIT 1
    ) AS send
    WHERE COALESCE((
        SELECT event.kind <> 'done'
        FROM snooze_events AS event
        WHERE event.snooze_id = send.snooze_id
          AND event.kind IN ('done', 'again', 'undone')
          AND CAST(event.detail ->> 'promise' AS timestamptz) = send.scheduled_for
        ORDER BY event.id DESC
        LIMIT 1
    ), TRUE);
    RETURN NULL;
END
$$;

CREATE TRIGGER messages_fill_return
BEFORE INSERT ON messages
FOR EACH ROW EXECUTE FUNCTION messages_fill_return();

CREATE TRIGGER messages_forget_deferral
BEFORE UPDATE ON messages
FOR EACH ROW
WHEN (OLD.deferred_until IS NOT NULL AND NEW.returns_at IS DISTINCT FROM OLD.returns_at)
EXECUTE FUNCTION messages_forget_deferral();

CREATE TRIGGER messages_stay
BEFORE UPDATE ON messages
FOR EACH ROW WHEN (NOT OLD.returns OR NOT NEW.returns) EXECUTE FUNCTION messages_stay();

CREATE TRIGGER messages_note_insert
AFTER INSERT ON messages
REFERENCING NEW TABLE AS fresh
FOR EACH STATEMENT EXECUTE FUNCTION list_changes_note_insert();

CREATE TRIGGER messages_note_update
AFTER UPDATE ON messages
REFERENCING OLD TABLE AS gone NEW TABLE AS fresh
FOR EACH STATEMENT EXECUTE FUNCTION messages_note_update();

CREATE TRIGGER messages_note_delete
AFTER DELETE ON messages
REFERENCING OLD TABLE AS gone
FOR EACH STATEMENT EXECUTE FUNCTION list_changes_note_delete();

CREATE TRIGGER messages_webhook_done
AFTER UPDATE OF folder, place ON messages
FOR EACH ROW
WHEN (
    (NEW.is_kept AND NEW.folder = 'done' AND OLD.folder <> 'done')
    OR (NEW.place = 'aside' AND NEW.wanted = 'aside' AND OLD.place <> 'aside')
)
EXECUTE FUNCTION messages_webhook_done();
"""

READERS = """
CREATE OR REPLACE FUNCTION reminder_sends_push() RETURNS TRIGGER
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
{awaited}    ) THEN
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

CREATE OR REPLACE FUNCTION snooze_events_webhook_done() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM webhook_enter_done(snooze.user_email, snooze.message_id, snooze.id)
    FROM email_snoozes AS snooze
    WHERE snooze.id = NEW.snooze_id
      AND NOT EXISTS (
          SELECT 1
          FROM {kept} AS kept
          WHERE kept.user_email = snooze.user_email
            AND kept.message_id = snooze.message_id{and_kept}
      );
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION snooze_return_alone(person text, message text, promise timestamp with time zone) RETURNS text
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    entry RECORD;
BEGIN
    SELECT its.returns_at, its.deferred_until AS deferred_until, mailbox.state, mailbox.problem
    INTO entry
    FROM {connected} AS its
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
        AND GREATEST(promise, entry.deferred_until, snooze_server_met()) > clock_timestamp() - INTERVAL '15 minutes'
    THEN
        RETURN 'awaited';
    END IF;
    RETURN NULL;
END
$$;
"""
AWAITED = """\
        OR EXISTS (
            SELECT 1
            FROM messages AS its
            LEFT JOIN mailboxes AS mailbox ON mailbox.id = its.mailbox_id
            WHERE its.user_email = NEW.user_email
              AND its.message_id = NEW.message_id
              AND its.returns_at = NEW.scheduled_for
              AND (
                  its.is_kept
                  OR (its.place <> 'missing' AND mailbox.state = 'active' AND mailbox.problem IS NULL)
              )
        )
"""
AWAITED_BEFORE = """\
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
"""

INVARIANT = """
CREATE VIEW invariant_messages_return AS
SELECT
    snooze_id,
    NULL::bigint AS send_id,
    GREATEST(GREATEST(returns_at, deferred_until), snooze_server_met()) AS since,
    'its message is not back in the inbox' AS what
FROM {table}
WHERE {kept}GREATEST(returns_at, deferred_until) <= CURRENT_TIMESTAMP
  AND returns_at IS NOT NULL
  AND GREATEST(GREATEST(returns_at, deferred_until), snooze_server_met())
    < clock_timestamp() - snooze_term('sweep_seconds', 5) - INTERVAL '10 seconds'
  AND (
      NOT EXISTS (SELECT 1 FROM pauses WHERE ended_at IS NULL)
      OR snooze_pause(user_email, NULL, 'mailbox') IS NULL
  );
"""

# Processes of the release before go on until they are restarted, by these views. Only a message of a connected mailbox
# that is new to them is refused: their ON CONFLICT names a key that the view has not. A later release drops the views.
BEFORE = """
CREATE VIEW kept_messages AS
SELECT
    id, user_email, message_id,
    (SELECT original FROM message_originals AS its WHERE its.id = messages.id) AS original,
    sha256, subject, sender_name, sender_email, sent_at, folder, unread, arrived_at, surfaced_at, returned, thread_ids,
    returns_at, snooze_id, deferred_until, snippet
FROM messages
WHERE is_kept;

CREATE VIEW mailbox_messages AS
SELECT
    id, mailbox_id, user_email, message_id, header_id, fingerprint, size, internal_date, home, place, wanted, folder,
    uidvalidity, uid, missing_since, moving_to, target_folder, target_uidvalidity, target_uidnext, returns_at,
    snooze_id, arrived_at AS created_at, updated_at, thread_ids, returns, deferred_until, aside
FROM messages
WHERE NOT is_kept;

CREATE FUNCTION kept_messages_insert() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO messages (
        user_email, message_id, thread_ids, folder, size, arrived_at, sha256, subject, sender_name, sender_email,
        sent_at, snippet, unread, returned, surfaced_at
    )
    VALUES (
        NEW.user_email, NEW.message_id, NEW.thread_ids, COALESCE(NEW.folder, 'inbox'), octet_length(NEW.original),
        COALESCE(NEW.arrived_at, clock_timestamp()), NEW.sha256, NEW.subject, NEW.sender_name, NEW.sender_email,
        NEW.sent_at, NEW.snippet, COALESCE(NEW.unread, TRUE), COALESCE(NEW.returned, FALSE),
        COALESCE(NEW.surfaced_at, clock_timestamp())
    )
    ON CONFLICT DO NOTHING
    RETURNING id INTO NEW.id;
    IF NEW.id IS NULL THEN
        RETURN NULL;
    END IF;
    INSERT INTO message_originals (id, original) VALUES (NEW.id, NEW.original);
    RETURN NEW;
END
$$;

CREATE TRIGGER kept_messages_insert
INSTEAD OF INSERT ON kept_messages
FOR EACH ROW EXECUTE FUNCTION kept_messages_insert();
"""

# By `snoozer migrate --grant`: a role that may write the table of before may write what it is now.
GRANTS = """
DO $$
DECLARE
    role TEXT;
BEGIN
    FOR role IN
        SELECT DISTINCT CAST(CAST(entry.grantee AS regrole) AS text)
        FROM pg_class
        CROSS JOIN LATERAL aclexplode(pg_class.relacl) AS entry
        WHERE pg_class.oid = to_regclass('message_originals')
          AND entry.grantee NOT IN (0, pg_class.relowner)
    LOOP
        EXECUTE format(
            'GRANT SELECT, INSERT, UPDATE, DELETE ON messages, kept_messages, mailbox_messages TO %s', role
        );
    END LOOP;
END
$$
"""

# CREATE OR REPLACE forgets whose rights a function runs with.
AS_OWNER = """
DO $$
DECLARE
    name TEXT;
BEGIN
    FOREACH name IN ARRAY ARRAY[{names}] LOOP
        EXECUTE format(
            'ALTER FUNCTION %I() SECURITY DEFINER SET search_path = %I, pg_temp', name, current_schema()
        );
        EXECUTE format('REVOKE ALL ON FUNCTION %I() FROM PUBLIC', name);
    END LOOP;
END
$$
"""
FOLLOWING = ("email_snoozes_promise_return", "email_snoozes_move_return", "email_snoozes_forget_return")
FORMER = (
    "email_snoozes_promise_mailbox_return",
    "email_snoozes_move_mailbox_return",
    "email_snoozes_forget_mailbox_return",
)

DOWN_TABLES = """
DROP VIEW invariant_messages_return, kept_messages, mailbox_messages;
DROP FUNCTION kept_messages_insert();
ALTER SEQUENCE messages_id_seq RENAME TO kept_messages_id_seq;
CREATE SEQUENCE mailbox_messages_id_seq;
CREATE TABLE kept_messages (
    id BIGINT NOT NULL DEFAULT nextval('kept_messages_id_seq') CONSTRAINT pk_kept_messages PRIMARY KEY,
    user_email TEXT NOT NULL,
    message_id TEXT NOT NULL,
    original BYTEA NOT NULL,
    sha256 TEXT NOT NULL,
    subject TEXT,
    sender_name TEXT,
    sender_email TEXT,
    sent_at TIMESTAMPTZ,
    folder TEXT NOT NULL DEFAULT 'inbox',
    unread BOOLEAN NOT NULL DEFAULT TRUE,
    arrived_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    surfaced_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    returned BOOLEAN NOT NULL DEFAULT FALSE,
    thread_ids TEXT,
    returns_at TIMESTAMPTZ,
    snooze_id BIGINT,
    deferred_until TIMESTAMPTZ,
    snippet TEXT,
    CONSTRAINT ck_kept_messages_folder CHECK (folder IN ('inbox', 'snoozed', 'done', 'reminders')),
    CONSTRAINT ck_kept_messages_return_is_whole CHECK (num_nulls(returns_at, snooze_id) IN (0, 2)),
    CONSTRAINT uq_kept_messages_message UNIQUE (user_email, message_id)
);

CREATE TABLE mailbox_messages (
    id BIGINT NOT NULL DEFAULT nextval('mailbox_messages_id_seq') CONSTRAINT pk_mailbox_messages PRIMARY KEY,
    mailbox_id BIGINT NOT NULL CONSTRAINT fk_mailbox_messages_mailbox REFERENCES mailboxes (id) ON DELETE CASCADE,
    user_email TEXT NOT NULL,
    message_id TEXT NOT NULL,
    header_id TEXT,
    fingerprint TEXT NOT NULL,
    size BIGINT NOT NULL,
    internal_date TIMESTAMPTZ NOT NULL,
    home TEXT NOT NULL,
    place TEXT NOT NULL,
    wanted TEXT NOT NULL,
    folder TEXT NOT NULL,
    uidvalidity BIGINT NOT NULL,
    uid BIGINT NOT NULL,
    missing_since TIMESTAMPTZ,
    moving_to TEXT,
    target_folder TEXT,
    target_uidvalidity BIGINT,
    target_uidnext BIGINT,
    returns_at TIMESTAMPTZ,
    snooze_id BIGINT,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    updated_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    thread_ids TEXT,
    returns BOOLEAN NOT NULL DEFAULT TRUE,
    deferred_until TIMESTAMPTZ,
    aside TEXT,
    CONSTRAINT ck_mailbox_messages_aside_has_its_folder CHECK (
        aside IS NOT NULL OR ('aside' <> place AND 'aside' <> wanted)
    ),
    CONSTRAINT ck_mailbox_messages_intent_is_whole CHECK (
        num_nulls(moving_to, target_folder, target_uidvalidity, target_uidnext) IN (0, 4)
    ),
    CONSTRAINT ck_mailbox_messages_missing_has_its_time CHECK (
        (place = 'missing') = (missing_since IS NOT NULL)
    ),
    CONSTRAINT ck_mailbox_messages_moving_to CHECK (moving_to IN ('home', 'snoozed', 'aside')),
    CONSTRAINT ck_mailbox_messages_place CHECK (place IN ('home', 'snoozed', 'aside', 'missing')),
    CONSTRAINT ck_mailbox_messages_return_is_whole CHECK (num_nulls(returns_at, snooze_id) IN (0, 2)),
    CONSTRAINT ck_mailbox_messages_wanted CHECK (wanted IN ('home', 'snoozed', 'aside')),
    CONSTRAINT ck_mailbox_messages_what_stays_has_no_return CHECK (returns OR returns_at IS NULL),
    CONSTRAINT uq_mailbox_messages_message UNIQUE (user_email, message_id),
    CONSTRAINT uq_mailbox_messages_uid UNIQUE (mailbox_id, folder, uidvalidity, uid)
);

ALTER SEQUENCE kept_messages_id_seq OWNED BY kept_messages.id;
ALTER SEQUENCE mailbox_messages_id_seq OWNED BY mailbox_messages.id;

INSERT INTO kept_messages (
    id, user_email, message_id, original, sha256, subject, sender_name, sender_email, sent_at, folder, unread,
    arrived_at, surfaced_at, returned, thread_ids, returns_at, snooze_id, deferred_until, snippet
)
SELECT
    id, user_email, message_id, original, sha256, subject, sender_name, sender_email, sent_at, folder, unread,
    arrived_at, surfaced_at, returned, thread_ids, returns_at, snooze_id, deferred_until, snippet
FROM messages
JOIN message_originals USING (id)
WHERE is_kept;

INSERT INTO mailbox_messages (
    id, mailbox_id, user_email, message_id, header_id, fingerprint, size, internal_date, home, place, wanted, folder,
    uidvalidity, uid, missing_since, moving_to, target_folder, target_uidvalidity, target_uidnext, returns_at,
    snooze_id, created_at, updated_at, thread_ids, returns, deferred_until, aside
)
SELECT
    id, mailbox_id, user_email, message_id, header_id, fingerprint, size, internal_date, home, place, wanted, folder,
    uidvalidity, uid, missing_since, moving_to, target_folder, target_uidvalidity, target_uidnext, returns_at,
    snooze_id, arrived_at, updated_at, thread_ids, returns, deferred_until, aside
FROM messages
WHERE NOT is_kept;

SELECT setval('mailbox_messages_id_seq', GREATEST((SELECT max(id) FROM messages), 1));
CREATE INDEX ix_kept_messages_asleep
    ON kept_messages (user_email, COALESCE(GREATEST(returns_at, deferred_until), surfaced_at), id)
    WHERE folder = 'snoozed';
CREATE INDEX ix_kept_messages_back
    ON kept_messages (user_email, surfaced_at, id)
    WHERE returned AND unread AND folder = 'inbox';
CREATE INDEX ix_kept_messages_folder ON kept_messages (user_email, folder, surfaced_at, id) INCLUDE (unread);
CREATE INDEX ix_kept_messages_returns
    ON kept_messages (GREATEST(returns_at, deferred_until))
    WHERE returns_at IS NOT NULL;
CREATE INDEX ix_kept_messages_sha256 ON kept_messages (user_email, sha256);
CREATE INDEX ix_kept_messages_without_snippet ON kept_messages (id) WHERE snippet IS NULL;
CREATE INDEX ix_mailbox_messages_returns
    ON mailbox_messages (GREATEST(returns_at, deferred_until))
    WHERE returns_at IS NOT NULL;
CREATE INDEX ix_mailbox_messages_work
    ON mailbox_messages (mailbox_id)
    WHERE wanted <> place OR moving_to IS NOT NULL;
DROP TRIGGER email_snoozes_move_return ON email_snoozes;
DROP TABLE message_originals, messages;
DROP FUNCTION messages_fill_return();
DROP FUNCTION messages_note_update();
DROP FUNCTION messages_stay();
DROP FUNCTION messages_webhook_done();
"""

DOWN_FUNCTIONS = """
CREATE OR REPLACE FUNCTION email_snoozes_forget_mailbox_return() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    UPDATE mailbox_messages AS message
    SET returns_at = NULL,
        snooze_id = NULL,
        wanted = CASE wanted WHEN 'snoozed' THEN 'home' ELSE wanted END,
        updated_at = CURRENT_TIMESTAMP
    FROM gone
    WHERE message.user_email = gone.user_email
      AND message.message_id = gone.message_id
      AND message.snooze_id = gone.id;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION email_snoozes_forget_return() RETURNS TRIGGER
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

CREATE OR REPLACE FUNCTION email_snoozes_move_mailbox_return() RETURNS TRIGGER
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
        wanted = CASE WHEN NEW.outcome = 'cancelled' AND wanted = 'snoozed' THEN 'home' ELSE wanted END,
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

CREATE OR REPLACE FUNCTION email_snoozes_move_return() RETURNS TRIGGER
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

CREATE OR REPLACE FUNCTION email_snoozes_promise_mailbox_return() RETURNS TRIGGER
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

CREATE OR REPLACE FUNCTION email_snoozes_promise_return() RETURNS TRIGGER
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

CREATE OR REPLACE FUNCTION kept_messages_fill_return() RETURNS TRIGGER
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

CREATE OR REPLACE FUNCTION kept_messages_note_update() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO list_changes (transaction_id, people)
    SELECT CAST(CAST(pg_current_xact_id() AS text) AS bigint), array_agg(DISTINCT hashtext(changed.user_email))
    FROM (
        SELECT id, user_email, subject, sender_name, sender_email, folder, unread, surfaced_at, returned FROM fresh
        EXCEPT
        SELECT id, user_email, subject, sender_name, sender_email, folder, unread, surfaced_at, returned FROM gone
    ) AS changed
    HAVING count(*) > 0;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION kept_messages_webhook_done() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM webhook_enter_done(NEW.user_email, NEW.message_id, NULL);
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION mailbox_messages_note_update() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO list_changes (transaction_id, people)
    SELECT CAST(CAST(pg_current_xact_id() AS text) AS bigint), array_agg(DISTINCT hashtext(changed.user_email))
    FROM (
        SELECT id, user_email, place, wanted, folder, uidvalidity, uid, moving_to FROM fresh
        EXCEPT
        SELECT id, user_email, place, wanted, folder, uidvalidity, uid, moving_to FROM gone
    ) AS changed
    HAVING count(*) > 0;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION mailbox_messages_stay() RETURNS TRIGGER
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

CREATE OR REPLACE FUNCTION mailbox_messages_webhook_done() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM webhook_endpoints WHERE is_on) THEN
        RETURN NULL;
    END IF;
    PERFORM webhook_enter_done(NEW.user_email, NEW.message_id, send.snooze_id)
    FROM (
        SELECT reminder_sends.snooze_id, reminder_sends.scheduled_for
        FROM reminder_sends
        WHERE reminder_sends.user_email = NEW.user_email
          AND reminder_sends.message_id = NEW.message_id
        ORDER BY reminder_sends.scheduled_for DESC
        LIMIT 1
    ) AS send
    WHERE COALESCE((
        SELECT event.kind <> 'done'
        FROM snooze_events AS event
        WHERE event.snooze_id = send.snooze_id
          AND event.kind IN ('done', 'again', 'undone')
          AND CAST(event.detail ->> 'promise' AS timestamptz) = send.scheduled_for
        ORDER BY event.id DESC
        LIMIT 1
    ), TRUE);
    RETURN NULL;
END
$$;
"""

DOWN_TRIGGERS = """
CREATE TRIGGER email_snoozes_forget_mailbox_return
AFTER DELETE ON email_snoozes
REFERENCING OLD TABLE AS gone
FOR EACH STATEMENT EXECUTE FUNCTION email_snoozes_forget_mailbox_return();

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

CREATE TRIGGER email_snoozes_promise_mailbox_return
AFTER INSERT ON email_snoozes
REFERENCING NEW TABLE AS fresh
FOR EACH STATEMENT EXECUTE FUNCTION email_snoozes_promise_mailbox_return();

CREATE TRIGGER kept_messages_fill_return
BEFORE INSERT ON kept_messages
FOR EACH ROW EXECUTE FUNCTION kept_messages_fill_return();

CREATE TRIGGER kept_messages_forget_deferral
BEFORE UPDATE ON kept_messages
FOR EACH ROW
WHEN (OLD.deferred_until IS NOT NULL AND NEW.returns_at IS DISTINCT FROM OLD.returns_at)
EXECUTE FUNCTION messages_forget_deferral();

CREATE TRIGGER kept_messages_note_delete
AFTER DELETE ON kept_messages
REFERENCING OLD TABLE AS gone
FOR EACH STATEMENT EXECUTE FUNCTION list_changes_note_delete();

CREATE TRIGGER kept_messages_note_insert
AFTER INSERT ON kept_messages
REFERENCING NEW TABLE AS fresh
FOR EACH STATEMENT EXECUTE FUNCTION list_changes_note_insert();

CREATE TRIGGER kept_messages_note_update
AFTER UPDATE ON kept_messages
REFERENCING OLD TABLE AS gone NEW TABLE AS fresh
FOR EACH STATEMENT EXECUTE FUNCTION kept_messages_note_update();

CREATE TRIGGER kept_messages_webhook_done
AFTER UPDATE OF folder ON kept_messages
FOR EACH ROW
WHEN (NEW.folder = 'done' AND OLD.folder <> 'done')
EXECUTE FUNCTION kept_messages_webhook_done();

CREATE TRIGGER mailbox_messages_fill_return
BEFORE INSERT ON mailbox_messages
FOR EACH ROW EXECUTE FUNCTION kept_messages_fill_return();

CREATE TRIGGER mailbox_messages_forget_deferral
BEFORE UPDATE ON mailbox_messages
FOR EACH ROW
WHEN (OLD.deferred_until IS NOT NULL AND NEW.returns_at IS DISTINCT FROM OLD.returns_at)
EXECUTE FUNCTION messages_forget_deferral();

CREATE TRIGGER mailbox_messages_note_delete
AFTER DELETE ON mailbox_messages
REFERENCING OLD TABLE AS gone
FOR EACH STATEMENT EXECUTE FUNCTION list_changes_note_delete();

CREATE TRIGGER mailbox_messages_note_insert
AFTER INSERT ON mailbox_messages
REFERENCING NEW TABLE AS fresh
FOR EACH STATEMENT EXECUTE FUNCTION list_changes_note_insert();

CREATE TRIGGER mailbox_messages_note_update
AFTER UPDATE ON mailbox_messages
REFERENCING OLD TABLE AS gone NEW TABLE AS fresh
FOR EACH STATEMENT EXECUTE FUNCTION mailbox_messages_note_update();

CREATE TRIGGER mailbox_messages_stay
BEFORE UPDATE ON mailbox_messages
FOR EACH ROW
WHEN (NOT OLD.returns OR NOT NEW.returns)
EXECUTE FUNCTION mailbox_messages_stay();

CREATE TRIGGER mailbox_messages_webhook_done
AFTER UPDATE OF place ON mailbox_messages
FOR EACH ROW
WHEN (NEW.place = 'aside' AND NEW.wanted = 'aside' AND OLD.place <> 'aside')
EXECUTE FUNCTION mailbox_messages_webhook_done();
"""


def upgrade() -> None:
    op.execute(LOCK)
    before = counted(COUNTED_BEFORE)
    for step in (ORIGINALS, TABLE, ROWS, NARROW, KEYS, FOLLOW):
        op.execute(step)
    readers(kept="messages", and_kept="\n            AND kept.is_kept", connected="messages", awaited=AWAITED)
    op.execute(INVARIANT.replace("{table}", "messages").replace("{kept}", "is_kept AND "))
    op.execute(BEFORE)
    op.execute(GRANTS)
    as_owner(*FOLLOWING, "messages_note_update")
    after = counted(COUNTED_AFTER)
    for what, rows in before.items():
        if rows or after[what]:
            print(f"0074 messages: {what}: {rows} before, {after[what]} after")  # noqa: T201
    if after != before:
        raise RuntimeError(f"The counts of messages differ, so nothing was changed: {before} before, {after} after")


def downgrade() -> None:
    op.execute("LOCK TABLE messages IN ACCESS EXCLUSIVE MODE")
    for step in (DOWN_TABLES, DOWN_FUNCTIONS, DOWN_TRIGGERS):
        op.execute(step)
    readers(kept="kept_messages", and_kept="", connected="mailbox_messages", awaited=AWAITED_BEFORE)
    op.execute(INVARIANT.replace("{table}", "kept_messages").replace("{kept}", ""))
    as_owner(*FOLLOWING, *FORMER, "kept_messages_note_update", "mailbox_messages_note_update")


def counted(query: str) -> dict[str, int]:
    return {row.what: int(row.rows) for row in op.get_bind().execute(text(query))}


def as_owner(*functions: str) -> None:
    op.execute(AS_OWNER.replace("{names}", ", ".join(f"'{name}'" for name in functions)))


def readers(**names: str) -> None:
    functions = READERS
    for name, value in names.items():
        functions = functions.replace(f"{{{name}}}", value)
    op.execute(functions)
