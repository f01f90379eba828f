-- The whole schema after migration 0077, as pg_dump of PostgreSQL 15 writes it.
-- `make schema` makes this file from the migrations, which `snoozer migrate` runs; a test fails when they differ.
SET check_function_bodies = off;

CREATE FUNCTION accounts_move_day() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE day_shapes
    SET known_until = to_timestamp(0),
        refresh_at = to_timestamp(0),
        changed = TRUE
    WHERE account_id = NEW.id;
    RETURN NULL;
END
$$;

CREATE FUNCTION audit_log_append() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    last audit_log;
BEGIN
    PERFORM pg_advisory_xact_lock(7266837049);
    SELECT * INTO last FROM audit_log ORDER BY id DESC LIMIT 1;
    NEW.id := COALESCE(last.id, 0) + 1;
    NEW.at := GREATEST(clock_timestamp(), last.at);
    NEW.hash := audit_log_hash(last.hash, NEW);
    RETURN NEW;
END
$$;

CREATE TABLE audit_log (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    actor text NOT NULL,
    act text NOT NULL,
    reason text,
    request_id text,
    operation_id bigint,
    snooze_id bigint,
    target text,
    before jsonb,
    after jsonb,
    hash bytea NOT NULL,
    CONSTRAINT ck_audit_log_actor CHECK ((actor ~ '^((operator|user):[0-9]+|command|clock|provider)$'::text)),
    CONSTRAINT ck_audit_log_texts_fit CHECK ((((length(act) >= 1) AND (length(act) <= 100)) AND (length(reason) <= 1000) AND (length(request_id) <= 200) AND (length(target) <= 200))),
    CONSTRAINT ck_audit_log_without_addresses CHECK ((concat_ws(' '::text, reason, target, before, after) !~ '[[:alnum:]]@[[:alnum:]]'::text))
);

CREATE FUNCTION audit_log_hash(previous bytea, entry audit_log) RETURNS bytea
    LANGUAGE sql STABLE
    AS $$
    SELECT sha256(
        COALESCE(previous, '') || convert_to(
            CAST(
                jsonb_build_array(
                    entry.id,
                    CAST(EXTRACT(EPOCH FROM entry.at) * 1000000 AS bigint),
                    entry.actor,
                    entry.act,
                    entry.reason,
                    entry.request_id,
                    entry.operation_id,
                    entry.snooze_id,
                    entry.target,
                    entry.before,
                    entry.after
                ) AS text
            ),
            'UTF8'
        )
    )
$$;

CREATE FUNCTION audit_log_refuse() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'the audit log is only appended to' USING ERRCODE = 'insufficient_privilege';
END
$$;

CREATE FUNCTION email_snoozes_deleted() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
BEGIN
    INSERT INTO list_changes (transaction_id, people)
    SELECT CAST(CAST(pg_current_xact_id() AS text) AS bigint), array_agg(DISTINCT hashtext(user_email))
    FROM gone
    HAVING count(*) > 0;
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

CREATE FUNCTION email_snoozes_enter() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    refused TEXT;
    because TEXT;
BEGIN
    NEW.bucket := COALESCE(NEW.bucket, snooze_bucket(NEW.user_email));
    IF octet_length(NEW.user_email) > 254
        OR octet_length(NEW.message_id) > 998
        OR octet_length(NEW.serialization_key) > 998
    THEN
        refused := 'ck_email_snoozes_texts_fit';
        because := format(
            'Octets: user_email %s (254 at most), message_id %s (998), serialization_key %s (998).',
            octet_length(NEW.user_email), octet_length(NEW.message_id), COALESCE(octet_length(NEW.serialization_key), 0)
        );
    ELSIF NEW.wall_time < '1969-12-31'
        OR NEW.wall_time > '9999-01-02'
        OR jsonb_typeof(NEW.recurrence) NOT IN ('object', 'null')
    THEN
        refused := 'ck_email_snoozes_make_sense';
        because := 'wall_time lies between 1970 and 9999, and recurrence is a JSON object or null.';
    END IF;
    IF refused IS NOT NULL THEN
        RAISE EXCEPTION 'new row for relation "email_snoozes" violates check constraint "%"', refused
            USING ERRCODE = 'check_violation',
                SCHEMA = TG_TABLE_SCHEMA,
                TABLE = TG_TABLE_NAME,
                CONSTRAINT = refused,
                DETAIL = because;
    END IF;
    IF NEW.serialization_key IS NOT NULL AND NOT NEW.inactive AND NEW.claimed_at IS NULL THEN
        NEW.behind_key := EXISTS (
            SELECT 1
            FROM email_snoozes AS ahead
            WHERE ahead.serialization_key = NEW.serialization_key
              AND NOT ahead.inactive
              AND ahead.claimed_at IS NULL
              AND ahead.attempts < ahead.max_attempts
              AND (ahead.remind_at, ahead.id) < (NEW.remind_at, NEW.id)
            OFFSET 3
        );
    END IF;
    RETURN NEW;
END
$$;

CREATE FUNCTION email_snoozes_inserted() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
BEGIN
    INSERT INTO list_changes (transaction_id, people)
    SELECT CAST(CAST(pg_current_xact_id() AS text) AS bigint), array_agg(DISTINCT hashtext(user_email))
    FROM fresh
    HAVING count(*) > 0;
    IF EXISTS (
        SELECT 1
        FROM fresh
        WHERE NOT inactive
          AND remind_at <= clock_timestamp() + INTERVAL '2 seconds'
    ) THEN
        PERFORM pg_notify('snooze_due', '');
    END IF;
    -- Most inserts are about no message that is known, and asking costs less than an UPDATE of no row.
    IF EXISTS (SELECT 1 FROM fresh JOIN messages USING (user_email, message_id)) THEN
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
    END IF;
    IF EXISTS (SELECT 1 FROM webhook_endpoints WHERE is_on) THEN
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
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION email_snoozes_move_return() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    at TIMESTAMPTZ := CASE WHEN NOT NEW.inactive THEN snooze_return_at(NEW) END;
BEGIN
    -- A recurring snooze gets its next promise when its reminder is sent. A message of a mailbox may not be back by
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

CREATE FUNCTION email_snoozes_note_update() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
BEGIN
    INSERT INTO list_changes (transaction_id, people)
    SELECT CAST(CAST(pg_current_xact_id() AS text) AS bigint), array_agg(DISTINCT hashtext(changed.user_email))
    FROM (
        SELECT id, user_email, subject, sender_email, note, remind_at, COALESCE(scheduled_for, remind_at), inactive, outcome, recurrence, reply_policy, reply_scope FROM fresh
        EXCEPT
        SELECT id, user_email, subject, sender_email, note, remind_at, COALESCE(scheduled_for, remind_at), inactive, outcome, recurrence, reply_policy, reply_scope FROM gone
    ) AS changed
    HAVING count(*) > 0;
    RETURN NULL;
END
$$;

CREATE FUNCTION email_snoozes_promise() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    retries BOOLEAN := OLD.claim_token IS NOT NULL AND NEW.claim_token IS NULL AND NEW.scheduled_for IS NOT NULL;
    reopens BOOLEAN := OLD.outcome = 'retired' AND NOT NEW.inactive;
BEGIN
    IF reopens AND NEW.outcome = 'retired' THEN
        NEW.outcome := NULL;
        NEW.finished_at := NULL;
        NEW.behind_key := FALSE;
    END IF;
    IF NEW.remind_at <> OLD.remind_at
        AND NEW.remind_at <> COALESCE(OLD.scheduled_for, OLD.remind_at)
        AND NOT retries
        AND NOT snooze_is_kept('promise')
    THEN
        NEW.scheduled_for := NULL;
        NEW.attempts := 0;
        NEW.crash_count := 0;
        NEW.last_error := NULL;
        NEW.last_error_at := NULL;
        NEW.deferred_until := NULL;
        NEW.deferred_by := NULL;
        NEW.behind_key := FALSE;
        NEW.claim_token := NULL;
        NEW.updated_at := CURRENT_TIMESTAMP;
        IF NOT snooze_is_kept('clock') AND NEW.wall_time IS NOT DISTINCT FROM OLD.wall_time THEN
            NEW.wall_time := NULL;
            NEW.time_kind := CASE WHEN COALESCE(jsonb_typeof(NEW.recurrence), 'null') <> 'null' THEN NEW.time_kind END;
        END IF;
    END IF;
    IF NEW.inactive OR num_nulls(NEW.claimed_at, NEW.claimed_by, NEW.claim_token, NEW.lease_expires_at) > 0 THEN
        NEW.claimed_at := NULL;
        NEW.claimed_by := NULL;
        NEW.claim_token := NULL;
        NEW.lease_expires_at := NULL;
    END IF;
    IF NOT NEW.inactive OR NEW.outcome IS NOT NULL THEN
        NEW.paused_by := NULL;
    END IF;
    RETURN NEW;
END
$$;

CREATE FUNCTION email_snoozes_webhook_update() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
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
                -- A recurring snooze that was sent gets its next promise: not an edit.
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

CREATE FUNCTION kept_messages_insert() RETURNS trigger
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

CREATE FUNCTION list_changes_note_delete() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
BEGIN
    INSERT INTO list_changes (transaction_id, people)
    SELECT CAST(CAST(pg_current_xact_id() AS text) AS bigint), array_agg(DISTINCT hashtext(user_email))
    FROM gone
    HAVING count(*) > 0;
    RETURN NULL;
END
$$;

CREATE FUNCTION list_changes_note_insert() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
BEGIN
    INSERT INTO list_changes (transaction_id, people)
    SELECT CAST(CAST(pg_current_xact_id() AS text) AS bigint), array_agg(DISTINCT hashtext(user_email))
    FROM fresh
    HAVING count(*) > 0;
    RETURN NULL;
END
$$;

CREATE FUNCTION messages_fill_return() RETURNS trigger
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

CREATE FUNCTION messages_forget_deferral() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    NEW.deferred_until := NULL;
    RETURN NEW;
END
$$;

CREATE FUNCTION messages_note_update() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
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

CREATE FUNCTION messages_stay() RETURNS trigger
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

CREATE FUNCTION messages_webhook_done() RETURNS trigger
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

CREATE FUNCTION reminder_sends_keep_sent() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'reminder_sends %: a reminder that was sent stays sent', OLD.id
        USING ERRCODE = 'check_violation';
END
$$;

CREATE FUNCTION reminder_sends_push() RETURNS trigger
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

CREATE FUNCTION reminder_sends_webhook() RETURNS trigger
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

CREATE FUNCTION snooze_archive_expire(keep_from date) RETURNS SETOF text
    LANGUAGE plpgsql SECURITY DEFINER
    SET lock_timeout TO '2s'
    SET search_path TO 'public', 'pg_temp'
    AS $_$
DECLARE
    partition TEXT;
BEGIN
    IF NOT pg_has_role(session_user, current_user, 'MEMBER') THEN
        keep_from := LEAST(keep_from, (date_trunc('month', now() AT TIME ZONE 'UTC') - INTERVAL '1 month')::date);
    END IF;
    FOR partition IN
        SELECT relname
        FROM pg_inherits
        JOIN pg_class ON pg_class.oid = inhrelid
        WHERE inhparent IN ('email_snoozes_archive'::regclass, 'reminder_sends_archive'::regclass)
          AND CASE
              WHEN relname ~ '_[0-9]{4}_[0-9]{2}$' THEN to_date(right(relname, 7), 'YYYY_MM') < keep_from
              ELSE FALSE
          END
        ORDER BY relname
    LOOP
        EXECUTE format('DROP TABLE %I', partition);
        RETURN NEXT partition;
    END LOOP;
END
$_$;

CREATE FUNCTION snooze_archive_prepare(month date) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET lock_timeout TO '2s'
    SET "TimeZone" TO 'UTC'
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    parent TEXT;
    partition TEXT;
    made BOOLEAN := FALSE;
BEGIN
    IF NOT pg_has_role(session_user, current_user, 'MEMBER') AND month > current_date + 100 THEN
        RAISE EXCEPTION 'no month of the archive is made so early' USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM pg_advisory_xact_lock(7266837007);
    FOREACH parent IN ARRAY ARRAY['email_snoozes_archive', 'reminder_sends_archive'] LOOP
        partition := parent || to_char(month, '_YYYY_MM');
        CONTINUE WHEN to_regclass(quote_ident(partition)) IS NOT NULL;
        EXECUTE format('CREATE TABLE %I (LIKE %I)', partition, parent);
        EXECUTE format(
            'ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
            parent, partition, month::timestamptz, month::timestamptz + INTERVAL '1 month'
        );
        made := TRUE;
    END LOOP;
    RETURN made;
END
$$;

CREATE FUNCTION snooze_archived_send(owner text, message text, promise timestamp with time zone) RETURNS bigint
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
          AND state = 'sent'
          AND channel = 'email'
    );
END
$$;

CREATE FUNCTION snooze_bucket(user_email text) RETURNS smallint
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$ SELECT (('x' || substr(md5(user_email), 1, 8))::bit(32)::bigint % 1024)::smallint $$;

CREATE FUNCTION snooze_deferral(person text, snooze bigint, promise timestamp with time zone, OUT until timestamp with time zone, OUT reason text) RETURNS record
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    shape day_shapes;
    present TIMESTAMPTZ := clock_timestamp();
BEGIN
    SELECT day.*
    INTO shape
    FROM accounts AS account
    JOIN day_shapes AS day ON day.account_id = account.id
    WHERE account.email = lower(person);
    IF NOT FOUND OR (SELECT at_any_hour FROM email_snoozes WHERE id = snooze)
    OR EXISTS (
        SELECT 1
        FROM snooze_events AS event
        WHERE event.snooze_id = snooze
          AND event.kind = 'back'
          AND CAST(event.detail ->> 'promise' AS timestamptz) = promise
    ) THEN
        RETURN;
    END IF;
    IF present >= shape.known_until THEN
        until := present;
    ELSIF present >= shape.rest_from
        AND present < shape.rest_until
        AND (promise >= shape.rest_from OR present >= shape.rest_from + INTERVAL '2 minutes')
    THEN
        until := shape.rest_until;
        reason := shape.rest_reason;
    END IF;
END
$$;

CREATE TABLE email_snoozes (
    id bigint NOT NULL,
    user_email text NOT NULL,
    message_id text NOT NULL,
    subject text,
    sender_email text,
    remind_at timestamp with time zone NOT NULL,
    snooze_duration_hours integer,
    claimed_at timestamp with time zone,
    claimed_by text,
    claim_token uuid,
    attempts integer DEFAULT 0 NOT NULL,
    max_attempts integer DEFAULT 5 NOT NULL,
    inactive boolean DEFAULT false NOT NULL,
    last_error text,
    last_error_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    scheduled_for timestamp with time zone,
    outcome text,
    finished_at timestamp with time zone,
    priority smallint DEFAULT 0 NOT NULL,
    crash_count integer DEFAULT 0 NOT NULL,
    lease_expires_at timestamp with time zone,
    bucket smallint NOT NULL,
    note text,
    recurrence jsonb,
    reply_policy text,
    mailbox text,
    origin_folder text,
    wall_time timestamp without time zone,
    zone text,
    time_kind text,
    traceparent text,
    schema_version smallint DEFAULT 1 NOT NULL,
    serialization_key text,
    behind_key boolean DEFAULT false NOT NULL,
    reply_scope text,
    reply_since timestamp with time zone,
    deferred_until timestamp with time zone,
    deferred_by text,
    at_any_hour boolean DEFAULT false NOT NULL,
    paused_by bigint,
    reference text,
    CONSTRAINT ck_email_snoozes_attempts CHECK (((attempts >= 0) AND (max_attempts >= 1) AND (crash_count >= 0))),
    CONSTRAINT ck_email_snoozes_claim_is_whole CHECK ((num_nulls(claimed_at, claimed_by, claim_token, lease_expires_at) = ANY (ARRAY[0, 4]))),
    CONSTRAINT ck_email_snoozes_deferral_is_whole CHECK ((num_nulls(deferred_until, deferred_by) = ANY (ARRAY[0, 2]))),
    CONSTRAINT ck_email_snoozes_finished_is_inactive CHECK (((outcome IS NULL) OR inactive)),
    CONSTRAINT ck_email_snoozes_inactive_is_unclaimed CHECK (((NOT inactive) OR (claimed_at IS NULL))),
    CONSTRAINT ck_email_snoozes_names_someone CHECK (((user_email <> ''::text) AND (message_id <> ''::text))),
    CONSTRAINT ck_email_snoozes_other_times_are_of_this_age CHECK ((((claimed_at >= '1970-01-01 00:00:00+00'::timestamp with time zone) AND (claimed_at <= '9999-01-01 00:00:00+00'::timestamp with time zone)) AND ((lease_expires_at >= '1970-01-01 00:00:00+00'::timestamp with time zone) AND (lease_expires_at <= '9999-01-01 00:00:00+00'::timestamp with time zone)) AND ((last_error_at >= '1970-01-01 00:00:00+00'::timestamp with time zone) AND (last_error_at <= '9999-01-01 00:00:00+00'::timestamp with time zone)) AND ((created_at >= '1970-01-01 00:00:00+00'::timestamp with time zone) AND (created_at <= '9999-01-01 00:00:00+00'::timestamp with time zone)) AND ((updated_at >= '1970-01-01 00:00:00+00'::timestamp with time zone) AND (updated_at <= '9999-01-01 00:00:00+00'::timestamp with time zone)) AND ((finished_at >= '1970-01-01 00:00:00+00'::timestamp with time zone) AND (finished_at <= '9999-01-01 00:00:00+00'::timestamp with time zone)))),
    CONSTRAINT ck_email_snoozes_outcome CHECK ((outcome = ANY (ARRAY['sent'::text, 'cancelled'::text, 'retired'::text]))),
    CONSTRAINT ck_email_snoozes_outcome_is_dated CHECK (((outcome IS NULL) = (finished_at IS NULL))),
    CONSTRAINT ck_email_snoozes_paused_is_inactive CHECK (((paused_by IS NULL) OR (inactive AND (outcome IS NULL)))),
    CONSTRAINT ck_email_snoozes_priority CHECK (((priority >= '-1000'::integer) AND (priority <= 1000))),
    CONSTRAINT ck_email_snoozes_reference CHECK ((char_length(reference) <= 200)),
    CONSTRAINT ck_email_snoozes_reply_policy CHECK ((reply_policy = ANY (ARRAY['keep'::text, 'cancel_on_reply'::text, 'until_reply'::text]))),
    CONSTRAINT ck_email_snoozes_reply_scope CHECK ((reply_scope = ANY (ARRAY['message'::text, 'thread'::text]))),
    CONSTRAINT ck_email_snoozes_time_kind CHECK ((time_kind = ANY (ARRAY['elapsed'::text, 'wall'::text]))),
    CONSTRAINT ck_email_snoozes_times_are_of_this_age CHECK ((((remind_at >= '1970-01-01 00:00:00+00'::timestamp with time zone) AND (remind_at <= '9999-01-01 00:00:00+00'::timestamp with time zone)) AND ((scheduled_for >= '1970-01-01 00:00:00+00'::timestamp with time zone) AND (scheduled_for <= '9999-01-01 00:00:00+00'::timestamp with time zone))))
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='1000', autovacuum_analyze_scale_factor='0.02', autovacuum_vacuum_cost_limit='2000');

CREATE FUNCTION snooze_due_at(snooze email_snoozes) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT GREATEST(snooze_promise(snooze), snooze.deferred_until)
$$;

CREATE FUNCTION snooze_error_class(error text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (error ~~ 'It may have been sent%'::text) THEN 'a'::text WHEN ((error ~~ 'The worker that held it was lost%'::text) OR (error ~~ 'The delivery broke down%'::text)) THEN 'b'::text ELSE COALESCE("substring"(("left"(error, 500) COLLATE "C"), '^(?:[^0-9@]*(?:: |with ))?([45])[0-9][0-9](?![0-9A-Za-z.@_])'::text), '0'::text) END;

CREATE FUNCTION snooze_error_text(error text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE COST 500 PARALLEL SAFE
    AS $$
DECLARE
    words TEXT := left(COALESCE(NULLIF(error, ''), 'No error was written down'), 500);
    code TEXT := COALESCE(
        substring(
            words COLLATE "C"
            FROM '^(?:[^0-9@]*(?:: |with ))?[45][0-9][0-9](?: [245]\.[0-9]+\.[0-9]+)?(?![0-9A-Za-z.@_])'
        ),
        ''
    );
BEGIN
    RETURN code || regexp_replace(
        substr(words, length(code) + 1) COLLATE "C",
        '[^][\s<>(),;="'']*[0-9@][^][\s<>(),;="'']*',
        '…',
        'g'
    );
END
$$;

CREATE FUNCTION snooze_error_fingerprint(error text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (snooze_error_class(error) || substr(md5(snooze_error_text(error)), 2));

CREATE FUNCTION snooze_events_webhook_done() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM webhook_enter_done(snooze.user_email, snooze.message_id, snooze.id)
    FROM email_snoozes AS snooze
    WHERE snooze.id = NEW.snooze_id
      AND NOT EXISTS (
          SELECT 1
          FROM messages AS kept
          WHERE kept.user_email = snooze.user_email
            AND kept.message_id = snooze.message_id
            AND kept.is_kept
      );
    RETURN NULL;
END
$$;

CREATE FUNCTION snooze_is_kept(what text) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT COALESCE(
        current_setting('snoozer.keeps', TRUE) = concat_ws(' ', what, CAST(statement_timestamp() AS text)), FALSE
    )
$$;

CREATE FUNCTION snooze_keeps(what text) RETURNS boolean
    LANGUAGE sql
    AS $$
    SELECT set_config('snoozer.keeps', concat_ws(' ', what, CAST(statement_timestamp() AS text)), TRUE) <> ''
$$;

CREATE FUNCTION snooze_may_be_gathered(person text, snooze bigint) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN EXISTS (
        SELECT 1
        FROM email_snoozes AS waiting
        JOIN accounts AS account ON account.email = lower(person)
        JOIN day_shapes AS day ON day.account_id = account.id
        WHERE waiting.id = snooze
          AND NOT waiting.at_any_hour
          AND waiting.deferred_until > day.gathered_until
          AND waiting.deferred_until <= clock_timestamp()
          AND day.gathers_over IS NOT NULL
    );
END
$$;

CREATE FUNCTION snooze_pause(person text, class integer, way text) RETURNS bigint
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

CREATE FUNCTION snooze_promise(snooze email_snoozes) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT COALESCE(snooze.scheduled_for, snooze.remind_at)
$$;

CREATE FUNCTION snooze_recipient_domain(email text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN lower(split_part(email, '@'::text, '-1'::integer));

CREATE FUNCTION snooze_reminder_is_sought(recipient text, uncertain_at timestamp with time zone, hold interval) RETURNS boolean
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

CREATE FUNCTION snooze_reminder_name(snooze_id bigint, owner text, message text, promise timestamp with time zone, domain text) RETURNS text
    LANGUAGE sql STABLE
    AS $$
SELECT '<' || left(encode(sha256(convert_to(concat_ws(
    chr(10), snooze_id, owner, message, extract(epoch FROM promise), 'email'
), 'UTF8')), 'hex'), 40) || '@' || domain || '>'
$$;

CREATE FUNCTION snooze_return_alone(person text, message text, promise timestamp with time zone) RETURNS text
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    entry RECORD;
    due timestamp with time zone;
BEGIN
    SELECT its.returns_at, its.deferred_until, its.missing_since, mailbox.state, mailbox.problem,
        mailbox.brings_back = 'return' AS is_alone
    INTO entry
    FROM messages AS its
    JOIN mailboxes AS mailbox ON mailbox.id = its.mailbox_id
    WHERE its.user_email = person
      AND its.message_id = message;
    IF NOT FOUND OR NOT (entry.is_alone OR entry.missing_since IS NOT NULL) THEN
        RETURN NULL;
    END IF;
    IF entry.is_alone AND EXISTS (
        SELECT 1
        FROM reminder_sends
        WHERE user_email = person
          AND message_id = message
          AND scheduled_for = promise
          AND channel = 'mailbox'
    ) THEN
        RETURN 'returned';
    END IF;
    due := GREATEST(promise, entry.deferred_until);
    IF entry.returns_at = promise
        AND entry.state = 'active'
        AND entry.problem IS NULL
        AND GREATEST(due, snooze_server_met()) > clock_timestamp() - INTERVAL '15 minutes'
        AND (entry.is_alone OR entry.missing_since < due)
    THEN
        RETURN 'awaited';
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION snooze_return_at(snooze email_snoozes) RETURNS timestamp with time zone
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

CREATE FUNCTION snooze_server_met() RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    AS $$
    SELECT COALESCE(
        (SELECT met_at FROM server_starts WHERE started_at = pg_postmaster_start_time()),
        pg_postmaster_start_time()
    )
$$;

CREATE FUNCTION snooze_state(snooze email_snoozes, known_schema integer) RETURNS TABLE(state text, why text, next_at timestamp with time zone)
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
$$;

CREATE FUNCTION snooze_term(name text, otherwise double precision) RETURNS interval
    LANGUAGE sql STABLE
    AS $$
    SELECT make_interval(secs => COALESCE(NULLIF(current_setting('snoozer.' || name, TRUE), '')::float8, otherwise))
$$;

CREATE FUNCTION snooze_timeline(OUT system_identifier bigint, OUT database_oid bigint, OUT timeline text) RETURNS record
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    BEGIN
        SELECT control.system_identifier INTO system_identifier FROM pg_control_system() AS control;
    EXCEPTION WHEN OTHERS THEN
        system_identifier := NULL;
    END;
    SELECT oid INTO database_oid FROM pg_database WHERE datname = current_database();
    BEGIN
        IF NOT pg_is_in_recovery() THEN
            timeline := left(pg_walfile_name(pg_current_wal_lsn()), 8);
        END IF;
    EXCEPTION WHEN OTHERS THEN
        timeline := NULL;
    END;
END
$$;

CREATE FUNCTION snooze_timeline_is_accepted() RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    accepted accepted_timelines;
    present RECORD;
BEGIN
    SELECT * INTO accepted FROM accepted_timelines ORDER BY id DESC LIMIT 1;
    present := snooze_timeline();
    RETURN (present.system_identifier <> accepted.system_identifier) IS NOT TRUE
        AND (present.database_oid <> accepted.database_oid) IS NOT TRUE
        AND (present.timeline <> accepted.timeline) IS NOT TRUE;
END
$$;

CREATE FUNCTION webhook_enter(person text, event text, snooze bigint, repeats boolean, promise timestamp with time zone, remind_at timestamp with time zone, reference text, subject text) RETURNS void
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

CREATE FUNCTION webhook_enter_done(person text, message text, snooze bigint) RETURNS void
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

CREATE FUNCTION webhook_next(endpoint bigint) RETURNS bigint
    LANGUAGE plpgsql STABLE COST 1000
    AS $$
DECLARE
    most CONSTANT INTEGER := 20;
    looked_at INTEGER;
    next_one BIGINT;
BEGIN
    WITH due AS MATERIALIZED (
        SELECT delivery.id, delivery.snooze_id, delivery.try_at
        FROM webhook_deliveries AS delivery
        WHERE delivery.endpoint_id = webhook_next.endpoint
          AND delivery.state = 'waiting'
          AND delivery.try_at <= CURRENT_TIMESTAMP
          AND COALESCE(delivery.claimed_until <= CURRENT_TIMESTAMP, TRUE)
        ORDER BY delivery.try_at, delivery.id
        LIMIT most
    )
    SELECT
        (SELECT count(*) FROM due),
        (
            SELECT due.id
            FROM due
            WHERE COALESCE(
                NOT EXISTS (
                    SELECT 1
                    FROM webhook_deliveries AS before
                    WHERE before.endpoint_id = webhook_next.endpoint
                      AND before.snooze_id = due.snooze_id
                      AND before.id < due.id
                      AND before.state = 'waiting'
                ),
                FALSE
            )
            ORDER BY due.try_at, due.id
            LIMIT 1
        )
    INTO looked_at, next_one;
    IF next_one IS NULL AND looked_at = most THEN
        SELECT line.id
        INTO next_one
        FROM (
            SELECT
                delivery.id,
                delivery.try_at,
                delivery.claimed_until,
                min(delivery.id) OVER (PARTITION BY COALESCE(delivery.snooze_id, -delivery.id)) AS head
            FROM webhook_deliveries AS delivery
            WHERE delivery.endpoint_id = webhook_next.endpoint
              AND delivery.state = 'waiting'
        ) AS line
        WHERE line.id = line.head
          AND line.try_at <= CURRENT_TIMESTAMP
          AND COALESCE(line.claimed_until <= CURRENT_TIMESTAMP, TRUE)
        ORDER BY line.try_at, line.id
        LIMIT 1;
    END IF;
    RETURN next_one;
END
$$;

CREATE TABLE accepted_timelines (
    id bigint NOT NULL,
    system_identifier bigint,
    database_oid bigint,
    timeline text,
    accepted_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    accepted_by text NOT NULL
);

CREATE SEQUENCE accepted_timelines_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE accepted_timelines_id_seq OWNED BY accepted_timelines.id;

CREATE TABLE account_deletions (
    account_id bigint NOT NULL,
    requested_at timestamp with time zone DEFAULT now() NOT NULL,
    due_at timestamp with time zone NOT NULL,
    deliver boolean NOT NULL,
    begun_at timestamp with time zone,
    looked_at timestamp with time zone
);

CREATE TABLE account_identities (
    issuer text NOT NULL,
    subject text NOT NULL,
    account_id bigint NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE account_phrases (
    account_id bigint NOT NULL,
    phrase text NOT NULL,
    used_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE account_presets (
    account_id bigint NOT NULL,
    "position" smallint NOT NULL,
    label text NOT NULL,
    phrase text NOT NULL
);

CREATE TABLE accounts (
    id bigint NOT NULL,
    email text NOT NULL,
    role text DEFAULT 'user'::text NOT NULL,
    zone text DEFAULT 'UTC'::text NOT NULL,
    locale text DEFAULT 'en_GB'::text NOT NULL,
    verified_at timestamp with time zone,
    disabled_at timestamp with time zone,
    zone_chosen boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    browsers_forgotten integer DEFAULT 0 NOT NULL,
    group_role text,
    signed_in_at timestamp with time zone,
    group_role_at timestamp with time zone,
    CONSTRAINT ck_accounts_email_is_folded CHECK ((email = lower(email))),
    CONSTRAINT ck_accounts_group_role CHECK ((group_role = ANY (ARRAY['viewer'::text, 'operator'::text, 'admin'::text]))),
    CONSTRAINT ck_accounts_role CHECK ((role = ANY (ARRAY['user'::text, 'viewer'::text, 'operator'::text, 'admin'::text])))
);

CREATE SEQUENCE accounts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE accounts_id_seq OWNED BY accounts.id;

CREATE TABLE api_tokens (
    id bigint NOT NULL,
    account_id bigint NOT NULL,
    token_hash text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    revoked_at timestamp with time zone,
    name text DEFAULT ''::text NOT NULL,
    scopes text[] DEFAULT '{snoozes:read,snoozes:write,settings:read,settings:write,mailboxes:read,webhooks:read,webhooks:write}'::text[] NOT NULL,
    expires_at timestamp with time zone,
    last_used_at timestamp with time zone,
    CONSTRAINT ck_api_tokens_name CHECK ((char_length(name) <= 60)),
    CONSTRAINT ck_api_tokens_scopes CHECK ((cardinality(scopes) >= 1))
);

CREATE SEQUENCE api_tokens_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE api_tokens_id_seq OWNED BY api_tokens.id;

CREATE TABLE bulk_acts (
    account_id bigint NOT NULL,
    id uuid NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    result jsonb DEFAULT '{}'::jsonb NOT NULL,
    before jsonb DEFAULT '{}'::jsonb NOT NULL,
    undone_at timestamp with time zone
);

CREATE TABLE case_views (
    id bigint NOT NULL,
    account_id bigint NOT NULL,
    name text NOT NULL,
    filter jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE SEQUENCE case_views_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE case_views_id_seq OWNED BY case_views.id;

CREATE TABLE circuit_breakers (
    server text NOT NULL,
    state text DEFAULT 'closed'::text NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    last_failure text,
    opened_at timestamp with time zone,
    probe_token uuid,
    probe_at timestamp with time zone,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    refuses_everybody boolean DEFAULT false NOT NULL,
    away_since timestamp with time zone,
    closed_at timestamp with time zone,
    last_success_at timestamp with time zone,
    last_failure_at timestamp with time zone,
    tripped_at timestamp with time zone,
    tripped_by text,
    trip_reason text,
    CONSTRAINT ck_circuit_breakers_failures CHECK ((failures >= 0)),
    CONSTRAINT ck_circuit_breakers_state CHECK ((state = ANY (ARRAY['closed'::text, 'open'::text, 'half-open'::text]))),
    CONSTRAINT ck_circuit_breakers_trip_is_whole CHECK ((num_nulls(tripped_at, tripped_by, trip_reason) = ANY (ARRAY[0, 3]))),
    CONSTRAINT ck_circuit_breakers_tripped_is_open CHECK (((tripped_at IS NULL) OR (state = 'open'::text)))
);

CREATE TABLE day_shapes (
    account_id bigint NOT NULL,
    working_days smallint[] DEFAULT '{1,2,3,4,5}'::smallint[] NOT NULL,
    work_from time without time zone DEFAULT '09:00:00'::time without time zone NOT NULL,
    work_until time without time zone DEFAULT '17:00:00'::time without time zone NOT NULL,
    quiet_from time without time zone,
    quiet_until time without time zone,
    quiet_until_off time without time zone,
    rests_on_days_off boolean DEFAULT false NOT NULL,
    away_from date,
    back_on date,
    rest_from timestamp with time zone,
    rest_until timestamp with time zone,
    rest_reason text,
    known_until timestamp with time zone DEFAULT now() NOT NULL,
    refresh_at timestamp with time zone DEFAULT now() NOT NULL,
    changed boolean DEFAULT true NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    gathers_over smallint,
    gathered_until timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT ck_day_shapes_gathers_over CHECK (((gathers_over >= 3) AND (gathers_over <= 50))),
    CONSTRAINT ck_day_shapes_quiet_hours CHECK (((num_nulls(quiet_from, quiet_until) = ANY (ARRAY[0, 2])) AND ((quiet_from <> quiet_until) IS NOT FALSE) AND ((quiet_until_off IS NULL) OR ((quiet_from IS NOT NULL) AND (quiet_until_off <> quiet_from))))),
    CONSTRAINT ck_day_shapes_rest CHECK (((num_nulls(rest_from, rest_until, rest_reason) = ANY (ARRAY[0, 3])) AND ((rest_from < rest_until) IS NOT FALSE) AND (rest_reason = ANY (ARRAY['quiet'::text, 'day off'::text, 'vacation'::text])))),
    CONSTRAINT ck_day_shapes_vacation CHECK (((num_nulls(away_from, back_on) = ANY (ARRAY[0, 2])) AND (((back_on > away_from) AND ((back_on - away_from) <= 366)) IS NOT FALSE))),
    CONSTRAINT ck_day_shapes_work CHECK ((work_from < work_until)),
    CONSTRAINT ck_day_shapes_working_days CHECK (((working_days <@ ARRAY[(1)::smallint, (2)::smallint, (3)::smallint, (4)::smallint, (5)::smallint, (6)::smallint, (7)::smallint]) AND (cardinality(working_days) >= 1)))
);

CREATE TABLE definitions (
    name text NOT NULL,
    source text NOT NULL,
    present text NOT NULL
);

CREATE TABLE digest_members (
    digest_id bigint NOT NULL,
    "position" smallint NOT NULL,
    snooze_id bigint NOT NULL,
    scheduled_for timestamp with time zone NOT NULL
);

CREATE TABLE digests (
    id bigint NOT NULL,
    account_id bigint NOT NULL,
    snooze_id bigint NOT NULL,
    scheduled_for timestamp with time zone NOT NULL,
    gathered_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    settled_at timestamp with time zone
);

CREATE SEQUENCE digests_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE digests_id_seq OWNED BY digests.id;

CREATE TABLE email_snoozes_archive (
    id bigint NOT NULL,
    user_email text NOT NULL,
    message_id text NOT NULL,
    subject text,
    sender_email text,
    remind_at timestamp with time zone NOT NULL,
    snooze_duration_hours integer,
    claimed_at timestamp with time zone,
    claimed_by text,
    claim_token uuid,
    attempts integer NOT NULL,
    max_attempts integer NOT NULL,
    inactive boolean NOT NULL,
    last_error text,
    last_error_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    scheduled_for timestamp with time zone,
    outcome text,
    finished_at timestamp with time zone NOT NULL,
    priority smallint NOT NULL,
    crash_count integer NOT NULL,
    lease_expires_at timestamp with time zone,
    bucket smallint NOT NULL,
    note text,
    recurrence jsonb,
    reply_policy text,
    mailbox text,
    origin_folder text,
    wall_time timestamp without time zone,
    zone text,
    time_kind text,
    traceparent text,
    schema_version smallint NOT NULL,
    serialization_key text,
    behind_key boolean NOT NULL,
    reply_scope text,
    reply_since timestamp with time zone,
    deferred_until timestamp with time zone,
    deferred_by text,
    at_any_hour boolean NOT NULL,
    paused_by bigint,
    reference text
)
PARTITION BY RANGE (finished_at);

CREATE SEQUENCE email_snoozes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE email_snoozes_id_seq OWNED BY email_snoozes.id;

CREATE TABLE feeds (
    id bigint NOT NULL,
    account_id bigint NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    shows_subject boolean DEFAULT true NOT NULL,
    secret_hash text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    used_at timestamp with time zone,
    CONSTRAINT ck_feeds_kind CHECK ((kind = ANY (ARRAY['calendar'::text, 'returned'::text])))
);

CREATE SEQUENCE feeds_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE feeds_id_seq OWNED BY feeds.id;

CREATE TABLE housekeeping_runs (
    chore text NOT NULL,
    finished_at timestamp with time zone NOT NULL
);

CREATE TABLE idempotency_keys (
    account_id bigint NOT NULL,
    key text NOT NULL,
    request_sha256 text NOT NULL,
    status smallint NOT NULL,
    body text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE import_rows (
    import_id bigint NOT NULL,
    line bigint NOT NULL,
    verdict text NOT NULL,
    reason text,
    state text,
    message_id text,
    subject text,
    sender_email text,
    note text,
    promised timestamp with time zone,
    recurrence jsonb,
    wall_time timestamp without time zone,
    zone text,
    time_kind text,
    reply_policy text,
    reply_scope text,
    made_at timestamp with time zone,
    finished_at timestamp with time zone,
    sends jsonb DEFAULT '[]'::jsonb NOT NULL,
    at_any_hour boolean DEFAULT false NOT NULL,
    reference text,
    options jsonb DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT ck_import_rows_are_whole CHECK (((verdict = 'refused'::text) OR (num_nulls(state, message_id, promised, made_at) = 0))),
    CONSTRAINT ck_import_rows_refused_has_a_reason CHECK (((verdict = 'refused'::text) = (reason IS NOT NULL))),
    CONSTRAINT ck_import_rows_state CHECK ((state = ANY (ARRAY['waiting'::text, 'paused'::text, 'sent'::text, 'cancelled'::text]))),
    CONSTRAINT ck_import_rows_verdict CHECK ((verdict = ANY (ARRAY['new'::text, 'same'::text, 'changed'::text, 'refused'::text])))
);

CREATE TABLE imported_jobs (
    source text NOT NULL,
    job_id text NOT NULL,
    snooze_id bigint NOT NULL,
    user_email text NOT NULL,
    due_at timestamp with time zone NOT NULL,
    seen_at timestamp with time zone DEFAULT now() NOT NULL,
    withdrawn_at timestamp with time zone
);

CREATE TABLE imports (
    id bigint NOT NULL,
    account_id bigint NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    presets jsonb DEFAULT '[]'::jsonb NOT NULL
);

ALTER TABLE imports ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME imports_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE VIEW open_breakers AS
 SELECT circuit_breakers.server,
    circuit_breakers.state,
    circuit_breakers.refuses_everybody,
    COALESCE(circuit_breakers.away_since, circuit_breakers.opened_at, circuit_breakers.updated_at) AS since
   FROM circuit_breakers
  WHERE ((circuit_breakers.state <> 'closed'::text) AND (circuit_breakers.updated_at > (clock_timestamp() - '01:00:00'::interval)));

CREATE TABLE pauses (
    id bigint NOT NULL,
    kind text NOT NULL,
    value text DEFAULT ''::text NOT NULL,
    actor text NOT NULL,
    reason text NOT NULL,
    since timestamp with time zone DEFAULT now() NOT NULL,
    until timestamp with time zone,
    ended_at timestamp with time zone,
    ended_by text,
    CONSTRAINT ck_pauses_channel CHECK (((kind <> 'channel'::text) OR (value = ANY (ARRAY['mail'::text, 'push'::text, 'mailbox'::text])))),
    CONSTRAINT ck_pauses_class CHECK (((kind <> 'class'::text) OR (value ~ '^-?[0-9]{1,4}$'::text))),
    CONSTRAINT ck_pauses_end_is_whole CHECK (((ended_at IS NULL) = (ended_by IS NULL))),
    CONSTRAINT ck_pauses_kind CHECK ((kind = ANY (ARRAY['all'::text, 'person'::text, 'domain'::text, 'channel'::text, 'class'::text, 'invalid'::text]))),
    CONSTRAINT ck_pauses_value CHECK (((kind = 'all'::text) = (value = ''::text)))
);

CREATE VIEW invariant_due_is_taken AS
 SELECT email_snoozes.id AS snooze_id,
    NULL::bigint AS send_id,
    GREATEST(email_snoozes.remind_at, email_snoozes.created_at, snooze_server_met()) AS since,
    'due, and nobody takes it'::text AS what
   FROM email_snoozes
  WHERE ((NOT email_snoozes.inactive) AND (email_snoozes.claimed_at IS NULL) AND (email_snoozes.attempts < email_snoozes.max_attempts) AND (email_snoozes.remind_at <= CURRENT_TIMESTAMP) AND (GREATEST(email_snoozes.remind_at, email_snoozes.created_at, snooze_server_met()) < (((clock_timestamp() - snooze_term('lease_seconds'::text, (90)::double precision)) - snooze_term('sweep_seconds'::text, (5)::double precision)) - snooze_term('backoff_seconds'::text, (60)::double precision))) AND (NOT (EXISTS ( SELECT 1
           FROM open_breakers))) AND (NOT (EXISTS ( SELECT 1
           FROM pauses
          WHERE ((pauses.ended_at IS NULL) AND ((pauses.kind = 'all'::text) OR ((pauses.kind = 'channel'::text) AND (pauses.value = 'mail'::text))))))));

CREATE TABLE reminder_sends (
    id bigint NOT NULL,
    snooze_id bigint NOT NULL,
    user_email text NOT NULL,
    message_id text NOT NULL,
    scheduled_for timestamp with time zone NOT NULL,
    channel text DEFAULT 'email'::text NOT NULL,
    bucket smallint NOT NULL,
    reminder_message_id text,
    state text NOT NULL,
    claim_token uuid,
    subject text,
    sender_email text,
    note text,
    zone text NOT NULL,
    bytes_sha256 text,
    smtp_code integer,
    enhanced_code text,
    reply text,
    queue_id text,
    resends smallint DEFAULT 0 NOT NULL,
    late boolean DEFAULT false NOT NULL,
    reserved_at timestamp with time zone NOT NULL,
    dot_authorised_at timestamp with time zone,
    uncertain_at timestamp with time zone,
    sent_at timestamp with time zone,
    resolution text,
    resolved_by text,
    resolved_at timestamp with time zone,
    looks smallint DEFAULT 0 NOT NULL,
    looked_at timestamp with time zone,
    refusals smallint DEFAULT 0 NOT NULL,
    delayed_by text,
    locale text,
    late_from timestamp with time zone,
    CONSTRAINT ck_reminder_sends_channel CHECK ((channel = ANY (ARRAY['email'::text, 'mailbox'::text]))),
    CONSTRAINT ck_reminder_sends_mail_is_whole CHECK (((channel <> 'email'::text) OR (num_nulls(reminder_message_id, claim_token) = 0))),
    CONSTRAINT ck_reminder_sends_resolution_is_whole CHECK ((num_nulls(resolution, resolved_by, resolved_at) = ANY (ARRAY[0, 3]))),
    CONSTRAINT ck_reminder_sends_sending_is_marked CHECK (((state <> 'sending'::text) OR ((dot_authorised_at IS NOT NULL) AND (bytes_sha256 IS NOT NULL)))),
    CONSTRAINT ck_reminder_sends_sent_is_dated CHECK (((state = 'sent'::text) = (sent_at IS NOT NULL))),
    CONSTRAINT ck_reminder_sends_state CHECK ((state = ANY (ARRAY['reserved'::text, 'sending'::text, 'sent'::text, 'failed'::text, 'uncertain'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_threshold='1000', autovacuum_analyze_scale_factor='0.05');

CREATE TABLE reminder_sends_archive (
    finished_at timestamp with time zone NOT NULL,
    id bigint NOT NULL,
    snooze_id bigint NOT NULL,
    user_email text NOT NULL,
    message_id text NOT NULL,
    scheduled_for timestamp with time zone NOT NULL,
    channel text NOT NULL,
    bucket smallint NOT NULL,
    reminder_message_id text,
    state text NOT NULL,
    claim_token uuid,
    subject text,
    sender_email text,
    note text,
    zone text NOT NULL,
    bytes_sha256 text,
    smtp_code integer,
    enhanced_code text,
    reply text,
    queue_id text,
    resends smallint NOT NULL,
    late boolean NOT NULL,
    reserved_at timestamp with time zone NOT NULL,
    dot_authorised_at timestamp with time zone,
    uncertain_at timestamp with time zone,
    sent_at timestamp with time zone,
    resolution text,
    resolved_by text,
    resolved_at timestamp with time zone,
    looks smallint NOT NULL,
    looked_at timestamp with time zone,
    refusals smallint NOT NULL,
    delayed_by text,
    locale text,
    late_from timestamp with time zone
)
PARTITION BY RANGE (finished_at);

CREATE VIEW invariant_finished_has_its_send AS
 SELECT snooze.id AS snooze_id,
    NULL::bigint AS send_id,
    snooze.finished_at AS since,
    'finished as sent, and the ledger has no such send'::text AS what
   FROM ( SELECT email_snoozes.id,
            email_snoozes.user_email,
            email_snoozes.message_id,
            email_snoozes.scheduled_for,
            email_snoozes.finished_at,
            email_snoozes.outcome
           FROM email_snoozes
        UNION ALL
         SELECT email_snoozes_archive.id,
            email_snoozes_archive.user_email,
            email_snoozes_archive.message_id,
            email_snoozes_archive.scheduled_for,
            email_snoozes_archive.finished_at,
            email_snoozes_archive.outcome
           FROM email_snoozes_archive) snooze
  WHERE ((snooze.outcome = 'sent'::text) AND (NOT (EXISTS ( SELECT 1
           FROM reminder_sends send
          WHERE (((send.user_email = snooze.user_email) AND (send.message_id = snooze.message_id) AND (send.scheduled_for = snooze.scheduled_for)) AND (send.state = 'sent'::text) AND ((send.channel = 'email'::text) OR (send.resolution = 'alone'::text)))))) AND (NOT (EXISTS ( SELECT 1
           FROM reminder_sends_archive send
          WHERE (((send.user_email = snooze.user_email) AND (send.message_id = snooze.message_id) AND (send.scheduled_for = snooze.scheduled_for)) AND (send.state = 'sent'::text) AND ((send.channel = 'email'::text) OR (send.resolution = 'alone'::text)))))));

CREATE TABLE messages (
    id bigint NOT NULL,
    mailbox_id bigint,
    is_kept boolean GENERATED ALWAYS AS ((mailbox_id IS NULL)) STORED NOT NULL,
    user_email text NOT NULL,
    message_id text NOT NULL,
    thread_ids text,
    folder text NOT NULL,
    size bigint NOT NULL,
    arrived_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    returns_at timestamp with time zone,
    snooze_id bigint,
    deferred_until timestamp with time zone,
    sha256 text,
    subject text,
    sender_name text,
    sender_email text,
    sent_at timestamp with time zone,
    snippet text,
    unread boolean,
    returned boolean,
    surfaced_at timestamp with time zone,
    header_id text,
    fingerprint text,
    internal_date timestamp with time zone,
    returns boolean DEFAULT true NOT NULL,
    home text,
    aside text,
    place text,
    wanted text,
    uidvalidity bigint,
    uid bigint,
    missing_since timestamp with time zone,
    moving_to text,
    target_folder text,
    target_uidvalidity bigint,
    target_uidnext bigint,
    CONSTRAINT ck_messages_aside_has_its_folder CHECK (((aside IS NOT NULL) OR (('aside'::text <> place) AND ('aside'::text <> wanted)))),
    CONSTRAINT ck_messages_connected_is_whole CHECK ((is_kept OR (num_nulls(fingerprint, internal_date, home, place, wanted, uidvalidity, uid) = 0))),
    CONSTRAINT ck_messages_folder CHECK (((NOT is_kept) OR (folder = ANY (ARRAY['inbox'::text, 'snoozed'::text, 'done'::text, 'reminders'::text])))),
    CONSTRAINT ck_messages_intent_is_whole CHECK ((num_nulls(moving_to, target_folder, target_uidvalidity, target_uidnext) = ANY (ARRAY[0, 4]))),
    CONSTRAINT ck_messages_kept_is_whole CHECK (((NOT is_kept) OR (num_nulls(sha256, unread, returned, surfaced_at) = 0))),
    CONSTRAINT ck_messages_missing_has_its_time CHECK (((place = 'missing'::text) = (missing_since IS NOT NULL))),
    CONSTRAINT ck_messages_moving_to CHECK ((moving_to = ANY (ARRAY['home'::text, 'snoozed'::text, 'aside'::text]))),
    CONSTRAINT ck_messages_place CHECK ((place = ANY (ARRAY['home'::text, 'snoozed'::text, 'aside'::text, 'missing'::text]))),
    CONSTRAINT ck_messages_return_is_whole CHECK ((num_nulls(returns_at, snooze_id) = ANY (ARRAY[0, 2]))),
    CONSTRAINT ck_messages_wanted CHECK ((wanted = ANY (ARRAY['home'::text, 'snoozed'::text, 'aside'::text]))),
    CONSTRAINT ck_messages_what_stays_has_no_return CHECK ((returns OR (returns_at IS NULL)))
);

CREATE VIEW invariant_messages_return AS
 SELECT messages.snooze_id,
    NULL::bigint AS send_id,
    GREATEST(GREATEST(messages.returns_at, messages.deferred_until), snooze_server_met()) AS since,
    'its message is not back in the inbox'::text AS what
   FROM messages
  WHERE (messages.is_kept AND (GREATEST(messages.returns_at, messages.deferred_until) <= CURRENT_TIMESTAMP) AND (messages.returns_at IS NOT NULL) AND (GREATEST(GREATEST(messages.returns_at, messages.deferred_until), snooze_server_met()) < ((clock_timestamp() - snooze_term('sweep_seconds'::text, (5)::double precision)) - '00:00:10'::interval)) AND ((NOT (EXISTS ( SELECT 1
           FROM pauses
          WHERE (pauses.ended_at IS NULL)))) OR (snooze_pause(messages.user_email, NULL::integer, 'mailbox'::text) IS NULL)));

CREATE VIEW invariant_no_second_dot AS
 SELECT sends.snooze_id,
    sends.id AS send_id,
    sends.uncertain_at AS since,
        CASE
            WHEN (sends.dot_authorised_at > sends.uncertain_at) THEN 'a dot after an uncertain one that nobody had resolved'::text
            ELSE (('was uncertain, is '::text || sends.state) || ', and nobody resolved it'::text)
        END AS what
   FROM ( SELECT reminder_sends.id,
            reminder_sends.snooze_id,
            reminder_sends.state,
            reminder_sends.uncertain_at,
            reminder_sends.dot_authorised_at,
            reminder_sends.resolved_at
           FROM reminder_sends
        UNION ALL
         SELECT reminder_sends_archive.id,
            reminder_sends_archive.snooze_id,
            reminder_sends_archive.state,
            reminder_sends_archive.uncertain_at,
            reminder_sends_archive.dot_authorised_at,
            reminder_sends_archive.resolved_at
           FROM reminder_sends_archive) sends
  WHERE ((sends.uncertain_at IS NOT NULL) AND (((sends.state <> 'uncertain'::text) AND (sends.resolved_at IS NULL)) OR ((sends.dot_authorised_at > sends.uncertain_at) AND ((sends.resolved_at IS NULL) OR (sends.resolved_at < sends.uncertain_at) OR (sends.resolved_at > sends.dot_authorised_at)))));

CREATE VIEW invariant_one_send_per_promise AS
 SELECT min(sends.snooze_id) AS snooze_id,
    min(sends.id) AS send_id,
    sends.scheduled_for AS since,
    (count(*) || ' sends for one promise'::text) AS what
   FROM ( SELECT reminder_sends.id,
            reminder_sends.snooze_id,
            reminder_sends.user_email,
            reminder_sends.message_id,
            reminder_sends.scheduled_for,
            reminder_sends.channel
           FROM reminder_sends
        UNION ALL
         SELECT reminder_sends_archive.id,
            reminder_sends_archive.snooze_id,
            reminder_sends_archive.user_email,
            reminder_sends_archive.message_id,
            reminder_sends_archive.scheduled_for,
            reminder_sends_archive.channel
           FROM reminder_sends_archive) sends
  GROUP BY sends.user_email, sends.message_id, sends.scheduled_for, sends.channel
 HAVING (count(*) > 1);

CREATE VIEW invariant_sent_stays_sent AS
 SELECT sends.snooze_id,
    sends.id AS send_id,
    COALESCE(sends.sent_at, sends.reserved_at) AS since,
        CASE
            WHEN (sends.state <> 'sent'::text) THEN ('was sent, and is '::text || sends.state)
            WHEN (sends.sent_at IS NULL) THEN 'sent, and nobody knows when'::text
            ELSE 'sent, without a reply that says so or anybody who decided it'::text
        END AS what
   FROM ( SELECT reminder_sends.id,
            reminder_sends.snooze_id,
            reminder_sends.state,
            reminder_sends.sent_at,
            reminder_sends.reserved_at,
            reminder_sends.smtp_code,
            reminder_sends.resolution
           FROM reminder_sends
        UNION ALL
         SELECT reminder_sends_archive.id,
            reminder_sends_archive.snooze_id,
            reminder_sends_archive.state,
            reminder_sends_archive.sent_at,
            reminder_sends_archive.reserved_at,
            reminder_sends_archive.smtp_code,
            reminder_sends_archive.resolution
           FROM reminder_sends_archive) sends
  WHERE (((sends.state <> 'sent'::text) AND (sends.sent_at IS NOT NULL)) OR ((sends.state = 'sent'::text) AND (sends.sent_at IS NULL)) OR ((sends.state = 'sent'::text) AND (sends.smtp_code IS DISTINCT FROM 250) AND (sends.resolution IS NULL)));

CREATE TABLE workers (
    id text NOT NULL,
    state text DEFAULT 'alive'::text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    heartbeat_at timestamp with time zone NOT NULL,
    stopped_at timestamp with time zone,
    version text,
    host text,
    batch_size integer,
    concurrency integer,
    CONSTRAINT ck_workers_dead_is_dated CHECK (((state = 'dead'::text) = (stopped_at IS NOT NULL))),
    CONSTRAINT ck_workers_state CHECK ((state = ANY (ARRAY['alive'::text, 'draining'::text, 'dead'::text])))
)
WITH (fillfactor='50');

CREATE VIEW invariant_the_dead_hold_nothing AS
 SELECT held.id AS snooze_id,
    NULL::bigint AS send_id,
    held.since,
    held.what
   FROM ( SELECT snooze.id,
            GREATEST(
                CASE
                    WHEN (workers.state = 'dead'::text) THEN workers.stopped_at
                    ELSE snooze.lease_expires_at
                END, snooze_server_met()) AS since,
                CASE
                    WHEN (workers.state = 'dead'::text) THEN 'held by a worker that is dead'::text
                    ELSE 'held by a worker whose lease ran out'::text
                END AS what
           FROM (email_snoozes snooze
             LEFT JOIN workers ON ((workers.id = snooze.claimed_by)))
          WHERE (snooze.claimed_at IS NOT NULL)) held
  WHERE (held.since < ((clock_timestamp() - snooze_term('lease_seconds'::text, (90)::double precision)) - snooze_term('sweep_seconds'::text, (5)::double precision)));

CREATE TABLE message_originals (
    id bigint NOT NULL,
    original bytea NOT NULL
);

CREATE VIEW kept_messages AS
 SELECT messages.id,
    messages.user_email,
    messages.message_id,
    ( SELECT its.original
           FROM message_originals its
          WHERE (its.id = messages.id)) AS original,
    messages.sha256,
    messages.subject,
    messages.sender_name,
    messages.sender_email,
    messages.sent_at,
    messages.folder,
    messages.unread,
    messages.arrived_at,
    messages.surfaced_at,
    messages.returned,
    messages.thread_ids,
    messages.returns_at,
    messages.snooze_id,
    messages.deferred_until,
    messages.snippet
   FROM messages
  WHERE messages.is_kept;

CREATE UNLOGGED TABLE list_changes (
    transaction_id bigint NOT NULL,
    people integer[] NOT NULL
);

CREATE UNLOGGED TABLE list_checkpoints (
    snapshot text NOT NULL,
    taken_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE mailbox_flagged (
    mailbox_id bigint NOT NULL,
    uid bigint NOT NULL
);

CREATE VIEW mailbox_messages AS
 SELECT messages.id,
    messages.mailbox_id,
    messages.user_email,
    messages.message_id,
    messages.header_id,
    messages.fingerprint,
    messages.size,
    messages.internal_date,
    messages.home,
    messages.place,
    messages.wanted,
    messages.folder,
    messages.uidvalidity,
    messages.uid,
    messages.missing_since,
    messages.moving_to,
    messages.target_folder,
    messages.target_uidvalidity,
    messages.target_uidnext,
    messages.returns_at,
    messages.snooze_id,
    messages.arrived_at AS created_at,
    messages.updated_at,
    messages.thread_ids,
    messages.returns,
    messages.deferred_until,
    messages.aside
   FROM messages
  WHERE (NOT messages.is_kept);

CREATE TABLE mailbox_sign_ins (
    state_hash text NOT NULL,
    session_hash text NOT NULL,
    account_id bigint NOT NULL,
    mailbox_id bigint,
    provider text NOT NULL,
    address text NOT NULL,
    verifier bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT ck_mailbox_sign_ins_provider CHECK ((provider = ANY (ARRAY['google'::text, 'microsoft'::text])))
);

CREATE TABLE mailbox_watchers (
    id text NOT NULL,
    seen_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE mailboxes (
    id bigint NOT NULL,
    account_id bigint NOT NULL,
    address text NOT NULL,
    host text NOT NULL,
    port integer NOT NULL,
    security text NOT NULL,
    username text NOT NULL,
    secret bytea NOT NULL,
    state text DEFAULT 'active'::text NOT NULL,
    problem text,
    problem_since timestamp with time zone,
    synced_at timestamp with time zone,
    tried_at timestamp with time zone,
    owner text,
    owned_until timestamp with time zone,
    fence bigint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    replies_uidvalidity bigint,
    replies_uidnext bigint,
    replies_read_at timestamp with time zone,
    login_method text DEFAULT 'password'::text NOT NULL,
    brings_back text DEFAULT 'both'::text NOT NULL,
    snooze_flag text,
    snooze_flag_time text,
    flagged_noted_at timestamp with time zone,
    flagged_uidvalidity bigint,
    CONSTRAINT ck_mailboxes_brings_back CHECK ((brings_back = ANY (ARRAY['return'::text, 'reminder'::text, 'both'::text]))),
    CONSTRAINT ck_mailboxes_flag_has_its_time CHECK ((num_nulls(snooze_flag, snooze_flag_time) = ANY (ARRAY[0, 2]))),
    CONSTRAINT ck_mailboxes_flagged_is_whole CHECK ((num_nulls(flagged_noted_at, flagged_uidvalidity) = ANY (ARRAY[0, 2]))),
    CONSTRAINT ck_mailboxes_login_method CHECK ((login_method = ANY (ARRAY['password'::text, 'google'::text, 'microsoft'::text]))),
    CONSTRAINT ck_mailboxes_owner_is_whole CHECK ((num_nulls(owner, owned_until) = ANY (ARRAY[0, 2]))),
    CONSTRAINT ck_mailboxes_pause_has_a_reason CHECK (((state <> 'paused'::text) OR (problem IS NOT NULL))),
    CONSTRAINT ck_mailboxes_port CHECK (((port >= 1) AND (port <= 65535))),
    CONSTRAINT ck_mailboxes_problem_is_whole CHECK ((num_nulls(problem, problem_since) = ANY (ARRAY[0, 2]))),
    CONSTRAINT ck_mailboxes_replies_are_whole CHECK ((num_nulls(replies_uidvalidity, replies_uidnext, replies_read_at) = ANY (ARRAY[0, 3]))),
    CONSTRAINT ck_mailboxes_security CHECK ((security = ANY (ARRAY['tls'::text, 'starttls'::text, 'plain'::text]))),
    CONSTRAINT ck_mailboxes_snooze_flag CHECK ((snooze_flag ~ '^(\\Flagged|[$A-Za-z0-9_-]{1,60})$'::text)),
    CONSTRAINT ck_mailboxes_state CHECK ((state = ANY (ARRAY['active'::text, 'paused'::text, 'leaving'::text])))
);

CREATE SEQUENCE mailboxes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE mailboxes_id_seq OWNED BY mailboxes.id;

CREATE SEQUENCE messages_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE messages_id_seq OWNED BY messages.id;

CREATE TABLE operation_members (
    operation_id bigint NOT NULL,
    snooze_id bigint NOT NULL,
    result text,
    detail text,
    decided_at timestamp with time zone,
    CONSTRAINT ck_operation_members_result CHECK ((result = ANY (ARRAY['done'::text, 'unchanged'::text, 'failed'::text]))),
    CONSTRAINT ck_operation_members_result_is_dated CHECK (((result IS NULL) = (decided_at IS NULL)))
);

CREATE TABLE operations (
    id bigint NOT NULL,
    form uuid NOT NULL,
    act text NOT NULL,
    parameters jsonb DEFAULT '{}'::jsonb NOT NULL,
    actor text NOT NULL,
    reason text NOT NULL,
    request_id text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    members bigint DEFAULT 0 NOT NULL,
    done bigint DEFAULT 0 NOT NULL,
    unchanged bigint DEFAULT 0 NOT NULL,
    failed bigint DEFAULT 0 NOT NULL,
    worked_at timestamp with time zone,
    cancelled_at timestamp with time zone,
    cancelled_by text,
    finished_at timestamp with time zone,
    CONSTRAINT ck_operations_cancelled_is_finished CHECK ((((cancelled_at IS NULL) = (cancelled_by IS NULL)) AND ((cancelled_at IS NULL) OR (finished_at IS NOT NULL)))),
    CONSTRAINT ck_operations_counts CHECK (((done >= 0) AND (unchanged >= 0) AND (failed >= 0) AND (((done + unchanged) + failed) <= members))),
    CONSTRAINT ck_operations_finished_is_whole CHECK (((finished_at IS NULL) OR (cancelled_at IS NOT NULL) OR (((done + unchanged) + failed) = members)))
);

CREATE SEQUENCE operations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE operations_id_seq OWNED BY operations.id;

CREATE SEQUENCE pauses_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE pauses_id_seq OWNED BY pauses.id;

CREATE TABLE push_devices (
    id bigint NOT NULL,
    account_id bigint NOT NULL,
    key_id bigint NOT NULL,
    name text NOT NULL,
    endpoint text NOT NULL,
    public_key bytea NOT NULL,
    auth_secret bytea NOT NULL,
    shows_subject boolean DEFAULT false NOT NULL,
    problem text,
    failures integer DEFAULT 0 NOT NULL,
    quiet_until timestamp with time zone,
    sent_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT ck_push_devices_keys CHECK (((octet_length(public_key) = 65) AND (octet_length(auth_secret) = 16)))
);

CREATE SEQUENCE push_devices_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE push_devices_id_seq OWNED BY push_devices.id;

CREATE TABLE push_keys (
    id bigint NOT NULL,
    public_key bytea NOT NULL,
    private_key bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE SEQUENCE push_keys_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE push_keys_id_seq OWNED BY push_keys.id;

CREATE TABLE push_sends (
    id bigint NOT NULL,
    device_id bigint NOT NULL,
    account_id bigint NOT NULL,
    snooze_id bigint NOT NULL,
    scheduled_for timestamp with time zone NOT NULL,
    state text DEFAULT 'reserved'::text NOT NULL,
    claim_token uuid,
    claimed_until timestamp with time zone,
    attempts integer DEFAULT 0 NOT NULL,
    try_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    marked_at timestamp with time zone,
    finished_at timestamp with time zone,
    status integer,
    reason text,
    CONSTRAINT ck_push_sends_claim_is_whole CHECK ((num_nulls(claim_token, claimed_until) = ANY (ARRAY[0, 2]))),
    CONSTRAINT ck_push_sends_finished_is_dated CHECK (((state = ANY (ARRAY['sent'::text, 'failed'::text, 'uncertain'::text])) = (finished_at IS NOT NULL))),
    CONSTRAINT ck_push_sends_sending_is_marked CHECK (((state <> 'sending'::text) OR (marked_at IS NOT NULL))),
    CONSTRAINT ck_push_sends_state CHECK ((state = ANY (ARRAY['reserved'::text, 'sending'::text, 'sent'::text, 'failed'::text, 'uncertain'::text])))
);

CREATE SEQUENCE push_sends_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE push_sends_id_seq OWNED BY push_sends.id;

CREATE TABLE queue_minutes (
    seconds integer NOT NULL,
    starts_at timestamp with time zone NOT NULL,
    sent integer NOT NULL,
    retried integer NOT NULL,
    failed integer NOT NULL,
    p50 double precision,
    p99 double precision,
    due integer,
    oldest_due double precision,
    CONSTRAINT ck_queue_minutes_seconds CHECK ((seconds = ANY (ARRAY[60, 3600])))
);

CREATE UNLOGGED TABLE quota_usage (
    quota text NOT NULL,
    subject text NOT NULL,
    period_start timestamp with time zone NOT NULL,
    amount bigint NOT NULL
);

CREATE SEQUENCE reminder_sends_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE reminder_sends_id_seq OWNED BY reminder_sends.id;

CREATE TABLE server_starts (
    started_at timestamp with time zone NOT NULL,
    met_at timestamp with time zone NOT NULL
);

CREATE TABLE sessions (
    id bigint NOT NULL,
    account_id bigint NOT NULL,
    token_hash text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    seen_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    device text,
    confirmed_at timestamp with time zone
);

CREATE SEQUENCE sessions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE sessions_id_seq OWNED BY sessions.id;

CREATE TABLE shadow_jobs (
    source text NOT NULL,
    job_id text NOT NULL,
    due_at timestamp with time zone NOT NULL,
    user_email text NOT NULL,
    priority smallint DEFAULT 0 NOT NULL,
    serialization_key text,
    noticed_at timestamp with time zone DEFAULT now() NOT NULL,
    seen_at timestamp with time zone DEFAULT now() NOT NULL,
    gone_at timestamp with time zone,
    would_send_at timestamp with time zone,
    sent_at timestamp with time zone[] DEFAULT '{}'::timestamp with time zone[] NOT NULL
);

CREATE TABLE sign_ins (
    id bigint NOT NULL,
    account_id bigint,
    token_hash text NOT NULL,
    code_hash text,
    browser_hash text,
    code_tries smallint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone,
    known_hash text,
    email_hash text
);

CREATE SEQUENCE sign_ins_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE sign_ins_id_seq OWNED BY sign_ins.id;

CREATE TABLE sink_messages (
    id bigint NOT NULL,
    received_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    mail_from text NOT NULL,
    rcpt_to text NOT NULL,
    original bytea NOT NULL
);

CREATE SEQUENCE sink_messages_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE sink_messages_id_seq OWNED BY sink_messages.id;

CREATE TABLE snooze_events (
    id bigint NOT NULL,
    snooze_id bigint NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    kind text NOT NULL,
    actor text NOT NULL,
    route text NOT NULL,
    detail jsonb DEFAULT '{}'::jsonb NOT NULL
);

CREATE SEQUENCE snooze_events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE snooze_events_id_seq OWNED BY snooze_events.id;

CREATE TABLE webhook_deliveries (
    id bigint NOT NULL,
    number uuid DEFAULT gen_random_uuid() NOT NULL,
    endpoint_id bigint NOT NULL,
    account_id bigint NOT NULL,
    event text NOT NULL,
    snooze_id bigint,
    repeats boolean DEFAULT false NOT NULL,
    scheduled_for timestamp with time zone,
    remind_at timestamp with time zone,
    reference text,
    subject text,
    occurred_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    state text DEFAULT 'waiting'::text NOT NULL,
    claim_token uuid,
    claimed_until timestamp with time zone,
    attempts integer DEFAULT 0 NOT NULL,
    try_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    first_tried_at timestamp with time zone,
    tried_at timestamp with time zone,
    finished_at timestamp with time zone,
    status integer,
    reason text,
    answer text,
    answer_ms integer,
    CONSTRAINT ck_webhook_deliveries_claim_is_whole CHECK ((num_nulls(claim_token, claimed_until) = ANY (ARRAY[0, 2]))),
    CONSTRAINT ck_webhook_deliveries_claimed_waits CHECK (((claim_token IS NULL) OR (state = 'waiting'::text))),
    CONSTRAINT ck_webhook_deliveries_finished_is_dated CHECK (((state = 'waiting'::text) = (finished_at IS NULL))),
    CONSTRAINT ck_webhook_deliveries_state CHECK ((state = ANY (ARRAY['waiting'::text, 'delivered'::text, 'failed'::text])))
);

CREATE SEQUENCE webhook_deliveries_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE webhook_deliveries_id_seq OWNED BY webhook_deliveries.id;

CREATE TABLE webhook_endpoints (
    id bigint NOT NULL,
    account_id bigint NOT NULL,
    url text NOT NULL,
    events text[] NOT NULL,
    shows_subject boolean DEFAULT false NOT NULL,
    secret bytea NOT NULL,
    previous_secret bytea,
    previous_until timestamp with time zone,
    is_on boolean DEFAULT true NOT NULL,
    off_reason text,
    off_at timestamp with time zone,
    failures integer DEFAULT 0 NOT NULL,
    quiet_until timestamp with time zone,
    turn_at timestamp with time zone DEFAULT now() NOT NULL,
    answer_ms integer,
    delivered_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    notice_at timestamp with time zone,
    CONSTRAINT ck_webhook_endpoints_events CHECK (((cardinality(events) >= 1) AND (events <@ ARRAY['created'::text, 'edited'::text, 'due'::text, 'sent'::text, 'returned'::text, 'done'::text, 'cancelled'::text, 'stuck'::text]))),
    CONSTRAINT ck_webhook_endpoints_off_is_whole CHECK ((num_nulls(off_reason, off_at) =
CASE
    WHEN is_on THEN 2
    ELSE 0
END)),
    CONSTRAINT ck_webhook_endpoints_previous_is_whole CHECK ((num_nulls(previous_secret, previous_until) = ANY (ARRAY[0, 2])))
);

CREATE SEQUENCE webhook_endpoints_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE webhook_endpoints_id_seq OWNED BY webhook_endpoints.id;

ALTER TABLE ONLY accepted_timelines ALTER COLUMN id SET DEFAULT nextval('accepted_timelines_id_seq'::regclass);

ALTER TABLE ONLY accounts ALTER COLUMN id SET DEFAULT nextval('accounts_id_seq'::regclass);

ALTER TABLE ONLY api_tokens ALTER COLUMN id SET DEFAULT nextval('api_tokens_id_seq'::regclass);

ALTER TABLE ONLY case_views ALTER COLUMN id SET DEFAULT nextval('case_views_id_seq'::regclass);

ALTER TABLE ONLY digests ALTER COLUMN id SET DEFAULT nextval('digests_id_seq'::regclass);

ALTER TABLE ONLY email_snoozes ALTER COLUMN id SET DEFAULT nextval('email_snoozes_id_seq'::regclass);

ALTER TABLE ONLY feeds ALTER COLUMN id SET DEFAULT nextval('feeds_id_seq'::regclass);

ALTER TABLE ONLY mailboxes ALTER COLUMN id SET DEFAULT nextval('mailboxes_id_seq'::regclass);

ALTER TABLE ONLY messages ALTER COLUMN id SET DEFAULT nextval('messages_id_seq'::regclass);

ALTER TABLE ONLY operations ALTER COLUMN id SET DEFAULT nextval('operations_id_seq'::regclass);

ALTER TABLE ONLY pauses ALTER COLUMN id SET DEFAULT nextval('pauses_id_seq'::regclass);

ALTER TABLE ONLY push_devices ALTER COLUMN id SET DEFAULT nextval('push_devices_id_seq'::regclass);

ALTER TABLE ONLY push_keys ALTER COLUMN id SET DEFAULT nextval('push_keys_id_seq'::regclass);

ALTER TABLE ONLY push_sends ALTER COLUMN id SET DEFAULT nextval('push_sends_id_seq'::regclass);

ALTER TABLE ONLY reminder_sends ALTER COLUMN id SET DEFAULT nextval('reminder_sends_id_seq'::regclass);

ALTER TABLE ONLY sessions ALTER COLUMN id SET DEFAULT nextval('sessions_id_seq'::regclass);

ALTER TABLE ONLY sign_ins ALTER COLUMN id SET DEFAULT nextval('sign_ins_id_seq'::regclass);

ALTER TABLE ONLY sink_messages ALTER COLUMN id SET DEFAULT nextval('sink_messages_id_seq'::regclass);

ALTER TABLE ONLY snooze_events ALTER COLUMN id SET DEFAULT nextval('snooze_events_id_seq'::regclass);

ALTER TABLE ONLY webhook_deliveries ALTER COLUMN id SET DEFAULT nextval('webhook_deliveries_id_seq'::regclass);

ALTER TABLE ONLY webhook_endpoints ALTER COLUMN id SET DEFAULT nextval('webhook_endpoints_id_seq'::regclass);

ALTER TABLE ONLY accepted_timelines
    ADD CONSTRAINT pk_accepted_timelines PRIMARY KEY (id);

ALTER TABLE ONLY account_deletions
    ADD CONSTRAINT pk_account_deletions PRIMARY KEY (account_id);

ALTER TABLE ONLY account_identities
    ADD CONSTRAINT pk_account_identities PRIMARY KEY (issuer, subject);

ALTER TABLE ONLY account_phrases
    ADD CONSTRAINT pk_account_phrases PRIMARY KEY (account_id, phrase);

ALTER TABLE ONLY account_presets
    ADD CONSTRAINT pk_account_presets PRIMARY KEY (account_id, "position");

ALTER TABLE ONLY accounts
    ADD CONSTRAINT pk_accounts PRIMARY KEY (id);

ALTER TABLE ONLY api_tokens
    ADD CONSTRAINT pk_api_tokens PRIMARY KEY (id);

ALTER TABLE ONLY audit_log
    ADD CONSTRAINT pk_audit_log PRIMARY KEY (id);

ALTER TABLE ONLY bulk_acts
    ADD CONSTRAINT pk_bulk_acts PRIMARY KEY (account_id, id);

ALTER TABLE ONLY case_views
    ADD CONSTRAINT pk_case_views PRIMARY KEY (id);

ALTER TABLE ONLY circuit_breakers
    ADD CONSTRAINT pk_circuit_breakers PRIMARY KEY (server);

ALTER TABLE ONLY day_shapes
    ADD CONSTRAINT pk_day_shapes PRIMARY KEY (account_id);

ALTER TABLE ONLY definitions
    ADD CONSTRAINT pk_definitions PRIMARY KEY (name);

ALTER TABLE ONLY digest_members
    ADD CONSTRAINT pk_digest_members PRIMARY KEY (digest_id, "position");

ALTER TABLE ONLY digests
    ADD CONSTRAINT pk_digests PRIMARY KEY (id);

ALTER TABLE ONLY email_snoozes
    ADD CONSTRAINT pk_email_snoozes PRIMARY KEY (id);

ALTER TABLE ONLY email_snoozes_archive
    ADD CONSTRAINT pk_email_snoozes_archive PRIMARY KEY (id, finished_at);

ALTER TABLE ONLY feeds
    ADD CONSTRAINT pk_feeds PRIMARY KEY (id);

ALTER TABLE ONLY housekeeping_runs
    ADD CONSTRAINT pk_housekeeping_runs PRIMARY KEY (chore);

ALTER TABLE ONLY idempotency_keys
    ADD CONSTRAINT pk_idempotency_keys PRIMARY KEY (account_id, key);

ALTER TABLE ONLY import_rows
    ADD CONSTRAINT pk_import_rows PRIMARY KEY (import_id, line);

ALTER TABLE ONLY imported_jobs
    ADD CONSTRAINT pk_imported_jobs PRIMARY KEY (source, job_id);

ALTER TABLE ONLY imports
    ADD CONSTRAINT pk_imports PRIMARY KEY (id);

ALTER TABLE ONLY mailbox_flagged
    ADD CONSTRAINT pk_mailbox_flagged PRIMARY KEY (mailbox_id, uid);

ALTER TABLE ONLY mailbox_sign_ins
    ADD CONSTRAINT pk_mailbox_sign_ins PRIMARY KEY (state_hash);

ALTER TABLE ONLY mailbox_watchers
    ADD CONSTRAINT pk_mailbox_watchers PRIMARY KEY (id);

ALTER TABLE ONLY mailboxes
    ADD CONSTRAINT pk_mailboxes PRIMARY KEY (id);

ALTER TABLE ONLY message_originals
    ADD CONSTRAINT pk_message_originals PRIMARY KEY (id);

ALTER TABLE ONLY messages
    ADD CONSTRAINT pk_messages PRIMARY KEY (id);

ALTER TABLE ONLY operation_members
    ADD CONSTRAINT pk_operation_members PRIMARY KEY (operation_id, snooze_id);

ALTER TABLE ONLY operations
    ADD CONSTRAINT pk_operations PRIMARY KEY (id);

ALTER TABLE ONLY pauses
    ADD CONSTRAINT pk_pauses PRIMARY KEY (id);

ALTER TABLE ONLY push_devices
    ADD CONSTRAINT pk_push_devices PRIMARY KEY (id);

ALTER TABLE ONLY push_keys
    ADD CONSTRAINT pk_push_keys PRIMARY KEY (id);

ALTER TABLE ONLY push_sends
    ADD CONSTRAINT pk_push_sends PRIMARY KEY (id);

ALTER TABLE ONLY queue_minutes
    ADD CONSTRAINT pk_queue_minutes PRIMARY KEY (seconds, starts_at);

ALTER TABLE ONLY quota_usage
    ADD CONSTRAINT pk_quota_usage PRIMARY KEY (quota, subject, period_start);

ALTER TABLE ONLY reminder_sends
    ADD CONSTRAINT pk_reminder_sends PRIMARY KEY (id);

ALTER TABLE ONLY reminder_sends_archive
    ADD CONSTRAINT pk_reminder_sends_archive PRIMARY KEY (id, finished_at);

ALTER TABLE ONLY server_starts
    ADD CONSTRAINT pk_server_starts PRIMARY KEY (started_at);

ALTER TABLE ONLY sessions
    ADD CONSTRAINT pk_sessions PRIMARY KEY (id);

ALTER TABLE ONLY shadow_jobs
    ADD CONSTRAINT pk_shadow_jobs PRIMARY KEY (source, job_id, due_at);

ALTER TABLE ONLY sign_ins
    ADD CONSTRAINT pk_sign_ins PRIMARY KEY (id);

ALTER TABLE ONLY sink_messages
    ADD CONSTRAINT pk_sink_messages PRIMARY KEY (id);

ALTER TABLE ONLY snooze_events
    ADD CONSTRAINT pk_snooze_events PRIMARY KEY (id);

ALTER TABLE ONLY webhook_deliveries
    ADD CONSTRAINT pk_webhook_deliveries PRIMARY KEY (id);

ALTER TABLE ONLY webhook_endpoints
    ADD CONSTRAINT pk_webhook_endpoints PRIMARY KEY (id);

ALTER TABLE ONLY workers
    ADD CONSTRAINT pk_workers PRIMARY KEY (id);

ALTER TABLE ONLY accounts
    ADD CONSTRAINT uq_accounts_email UNIQUE (email);

ALTER TABLE ONLY api_tokens
    ADD CONSTRAINT uq_api_tokens_token_hash UNIQUE (token_hash);

ALTER TABLE ONLY case_views
    ADD CONSTRAINT uq_case_views_name UNIQUE (account_id, name);

ALTER TABLE ONLY digest_members
    ADD CONSTRAINT uq_digest_members_promise UNIQUE (snooze_id, scheduled_for);

ALTER TABLE ONLY digests
    ADD CONSTRAINT uq_digests_promise UNIQUE (snooze_id, scheduled_for);

ALTER TABLE ONLY feeds
    ADD CONSTRAINT uq_feeds_secret_hash UNIQUE (secret_hash);

ALTER TABLE ONLY imports
    ADD CONSTRAINT uq_imports_account UNIQUE (account_id);

ALTER TABLE ONLY mailboxes
    ADD CONSTRAINT uq_mailboxes_login UNIQUE (account_id, host, username);

ALTER TABLE ONLY operations
    ADD CONSTRAINT uq_operations_form UNIQUE (form);

ALTER TABLE ONLY push_devices
    ADD CONSTRAINT uq_push_devices_endpoint UNIQUE (endpoint);

ALTER TABLE ONLY push_sends
    ADD CONSTRAINT uq_push_sends_promise UNIQUE (device_id, snooze_id, scheduled_for);

ALTER TABLE ONLY reminder_sends
    ADD CONSTRAINT uq_reminder_sends_promise UNIQUE (user_email, message_id, scheduled_for, channel);

ALTER TABLE ONLY reminder_sends
    ADD CONSTRAINT uq_reminder_sends_reminder_message_id UNIQUE (reminder_message_id);

ALTER TABLE ONLY sessions
    ADD CONSTRAINT uq_sessions_token_hash UNIQUE (token_hash);

ALTER TABLE ONLY sign_ins
    ADD CONSTRAINT uq_sign_ins_token_hash UNIQUE (token_hash);

ALTER TABLE ONLY webhook_deliveries
    ADD CONSTRAINT uq_webhook_deliveries_number UNIQUE (number);

ALTER TABLE ONLY webhook_endpoints
    ADD CONSTRAINT uq_webhook_endpoints_url UNIQUE (account_id, url);

CREATE INDEX ix_account_identities_account ON account_identities USING btree (account_id);

CREATE INDEX ix_account_phrases_used_at ON account_phrases USING btree (account_id, used_at);

CREATE INDEX ix_api_tokens_account ON api_tokens USING btree (account_id);

CREATE INDEX ix_audit_log_act ON audit_log USING btree (act, id);

CREATE INDEX ix_audit_log_actor ON audit_log USING btree (actor, id);

CREATE INDEX ix_audit_log_at ON audit_log USING btree (at, id);

CREATE INDEX ix_audit_log_operation ON audit_log USING btree (operation_id, id) WHERE (operation_id IS NOT NULL);

CREATE INDEX ix_audit_log_snooze ON audit_log USING btree (snooze_id, id) WHERE (snooze_id IS NOT NULL);

CREATE INDEX ix_bulk_acts_created_at ON bulk_acts USING btree (created_at);

CREATE INDEX ix_day_shapes_refresh ON day_shapes USING btree (refresh_at);

CREATE INDEX ix_digests_account ON digests USING btree (account_id);

CREATE INDEX ix_digests_gathered ON digests USING btree (gathered_at);

CREATE INDEX ix_digests_open ON digests USING btree (gathered_at) WHERE (settled_at IS NULL);

CREATE INDEX ix_email_snoozes_archive_person ON ONLY email_snoozes_archive USING btree (user_email, id);

CREATE INDEX ix_email_snoozes_behind ON email_snoozes USING btree (serialization_key) WHERE ((NOT inactive) AND (claimed_at IS NULL) AND behind_key);

CREATE INDEX ix_email_snoozes_case_classes ON email_snoozes USING btree (snooze_error_class(last_error), finished_at, id) WHERE (outcome = 'retired'::text);

CREATE INDEX ix_email_snoozes_case_domains ON email_snoozes USING btree (snooze_recipient_domain(user_email), finished_at, id) WHERE (outcome = 'retired'::text);

CREATE INDEX ix_email_snoozes_case_errors ON email_snoozes USING btree (snooze_error_fingerprint(last_error), finished_at, id) WHERE (outcome = 'retired'::text);

CREATE INDEX ix_email_snoozes_case_messages ON email_snoozes USING btree (md5(message_id)) WHERE (outcome = 'retired'::text);

CREATE INDEX ix_email_snoozes_cases ON email_snoozes USING btree (finished_at, id) WHERE (outcome = 'retired'::text);

CREATE INDEX ix_email_snoozes_claimed_by ON email_snoozes USING btree (claimed_by) WHERE (claimed_at IS NOT NULL);

CREATE INDEX ix_email_snoozes_due ON email_snoozes USING btree (remind_at) WHERE ((NOT inactive) AND (claimed_at IS NULL));

CREATE INDEX ix_email_snoozes_exhausted ON email_snoozes USING btree (remind_at) WHERE ((NOT inactive) AND (claimed_at IS NULL) AND (attempts >= max_attempts));

CREATE INDEX ix_email_snoozes_finished ON email_snoozes USING btree (finished_at, id) WHERE (outcome = ANY (ARRAY['sent'::text, 'cancelled'::text]));

CREATE INDEX ix_email_snoozes_key ON email_snoozes USING btree (serialization_key, remind_at, id) WHERE ((NOT inactive) AND (claimed_at IS NULL) AND (serialization_key IS NOT NULL));

CREATE INDEX ix_email_snoozes_lane ON email_snoozes USING btree (priority, LEAST(crash_count, 2), num_nonnulls(serialization_key), remind_at, id) WHERE ((NOT inactive) AND (claimed_at IS NULL) AND (NOT behind_key));

CREATE INDEX ix_email_snoozes_of_person ON email_snoozes USING btree (user_email, outcome, remind_at, id);

CREATE INDEX ix_email_snoozes_paused ON email_snoozes USING btree (id) WHERE (inactive AND (outcome IS NULL));

CREATE INDEX ix_email_snoozes_paused_by ON email_snoozes USING btree (paused_by, id) WHERE (paused_by IS NOT NULL);

CREATE INDEX ix_email_snoozes_poison ON email_snoozes USING btree (remind_at) WHERE ((NOT inactive) AND (claimed_at IS NULL) AND (NOT behind_key) AND (crash_count > 1));

CREATE INDEX ix_email_snoozes_put_back ON email_snoozes USING btree (remind_at) WHERE ((NOT inactive) AND (claimed_at IS NULL) AND (scheduled_for IS NOT NULL));

CREATE INDEX ix_email_snoozes_reply ON email_snoozes USING btree (user_email) WHERE ((NOT inactive) AND (reply_policy = ANY (ARRAY['cancel_on_reply'::text, 'until_reply'::text])));

CREATE INDEX ix_feeds_account ON feeds USING btree (account_id);

CREATE INDEX ix_idempotency_keys_created_at ON idempotency_keys USING btree (created_at);

CREATE INDEX ix_imported_jobs_user ON imported_jobs USING btree (user_email);

CREATE INDEX ix_imports_created ON imports USING btree (created_at);

CREATE INDEX ix_list_changes_transaction ON list_changes USING btree (transaction_id);

CREATE INDEX ix_mailbox_sign_ins_account ON mailbox_sign_ins USING btree (account_id);

CREATE INDEX ix_mailbox_sign_ins_created ON mailbox_sign_ins USING btree (created_at);

CREATE INDEX ix_mailbox_sign_ins_mailbox ON mailbox_sign_ins USING btree (mailbox_id);

CREATE INDEX ix_messages_asleep ON messages USING btree (user_email, COALESCE(GREATEST(returns_at, deferred_until), surfaced_at), id) WHERE (is_kept AND (folder = 'snoozed'::text));

CREATE INDEX ix_messages_back ON messages USING btree (user_email, surfaced_at, id) WHERE (is_kept AND returned AND unread AND (folder = 'inbox'::text));

CREATE INDEX ix_messages_folder ON messages USING btree (user_email, folder, surfaced_at, id) INCLUDE (unread) WHERE is_kept;

CREATE INDEX ix_messages_returns ON messages USING btree (is_kept, GREATEST(returns_at, deferred_until)) WHERE (returns_at IS NOT NULL);

CREATE INDEX ix_messages_sha256 ON messages USING btree (user_email, sha256) WHERE is_kept;

CREATE INDEX ix_messages_without_snippet ON messages USING btree (id) WHERE (is_kept AND (snippet IS NULL));

CREATE INDEX ix_messages_work ON messages USING btree (mailbox_id) WHERE ((wanted <> place) OR (moving_to IS NOT NULL));

CREATE INDEX ix_operation_members_open ON operation_members USING btree (operation_id, snooze_id) WHERE (result IS NULL);

CREATE INDEX ix_operation_members_result ON operation_members USING btree (operation_id, result, snooze_id);

CREATE INDEX ix_operations_open ON operations USING btree (id) WHERE (finished_at IS NULL);

CREATE INDEX ix_push_devices_account ON push_devices USING btree (account_id);

CREATE INDEX ix_push_sends_account ON push_sends USING btree (account_id);

CREATE INDEX ix_push_sends_claimed ON push_sends USING btree (claimed_until) WHERE (claimed_until IS NOT NULL);

CREATE INDEX ix_push_sends_created ON push_sends USING btree (created_at);

CREATE INDEX ix_push_sends_due ON push_sends USING btree (try_at, id) WHERE (state = 'reserved'::text);

CREATE INDEX ix_push_sends_open ON push_sends USING btree (id) WHERE (state = ANY (ARRAY['reserved'::text, 'sending'::text]));

CREATE INDEX ix_quota_usage_period_start ON quota_usage USING btree (period_start);

CREATE INDEX ix_reminder_sends_archive_promise ON ONLY reminder_sends_archive USING btree (user_email, message_id, scheduled_for);

CREATE INDEX ix_reminder_sends_archive_snooze ON ONLY reminder_sends_archive USING btree (snooze_id);

CREATE INDEX ix_reminder_sends_sent ON reminder_sends USING btree (sent_at) WHERE ((state = 'sent'::text) AND (channel = 'email'::text));

CREATE INDEX ix_reminder_sends_snooze ON reminder_sends USING btree (snooze_id);

CREATE INDEX ix_reminder_sends_unsettled ON reminder_sends USING btree (state, dot_authorised_at) WHERE (state = ANY (ARRAY['sending'::text, 'uncertain'::text]));

CREATE INDEX ix_sessions_account ON sessions USING btree (account_id);

CREATE INDEX ix_shadow_jobs_due ON shadow_jobs USING btree (source, due_at) WHERE ((would_send_at IS NULL) AND (gone_at IS NULL));

CREATE INDEX ix_shadow_jobs_user ON shadow_jobs USING btree (user_email);

CREATE INDEX ix_sign_ins_account ON sign_ins USING btree (account_id, created_at);

CREATE INDEX ix_sign_ins_browser ON sign_ins USING btree (browser_hash) WHERE (used_at IS NULL);

CREATE INDEX ix_sign_ins_email ON sign_ins USING btree (email_hash, created_at);

CREATE INDEX ix_sink_messages_rcpt_to ON sink_messages USING btree (rcpt_to, id);

CREATE INDEX ix_snooze_events_at ON snooze_events USING brin (at);

CREATE INDEX ix_snooze_events_snooze ON snooze_events USING btree (snooze_id, id);

CREATE INDEX ix_webhook_deliveries_account ON webhook_deliveries USING btree (account_id);

CREATE INDEX ix_webhook_deliveries_claimed ON webhook_deliveries USING btree (endpoint_id) WHERE (claim_token IS NOT NULL);

CREATE INDEX ix_webhook_deliveries_endpoint ON webhook_deliveries USING btree (endpoint_id, id);

CREATE INDEX ix_webhook_deliveries_occurred ON webhook_deliveries USING btree (occurred_at);

CREATE INDEX ix_webhook_deliveries_order ON webhook_deliveries USING btree (endpoint_id, snooze_id, id) WHERE (state = 'waiting'::text);

CREATE INDEX ix_webhook_deliveries_try ON webhook_deliveries USING btree (try_at) WHERE (state = 'waiting'::text);

CREATE INDEX ix_webhook_deliveries_waiting ON webhook_deliveries USING btree (endpoint_id, try_at, id) WHERE (state = 'waiting'::text);

CREATE INDEX ix_webhook_endpoints_notice ON webhook_endpoints USING btree (notice_at) WHERE (notice_at IS NOT NULL);

CREATE INDEX ix_webhook_endpoints_on ON webhook_endpoints USING btree (turn_at, id) WHERE is_on;

CREATE UNIQUE INDEX uq_email_snoozes_in_flight ON email_snoozes USING btree (serialization_key) WHERE ((claimed_at IS NOT NULL) AND (serialization_key IS NOT NULL));

CREATE UNIQUE INDEX uq_email_snoozes_live ON email_snoozes USING btree (user_email, message_id) WHERE (NOT inactive);

CREATE UNIQUE INDEX uq_messages_message ON messages USING btree (user_email, message_id, is_kept DESC);

CREATE UNIQUE INDEX uq_messages_uid ON messages USING btree (mailbox_id, folder, uidvalidity, uid) WHERE (mailbox_id IS NOT NULL);

CREATE UNIQUE INDEX uq_pauses_active ON pauses USING btree (kind, value) WHERE (ended_at IS NULL);

CREATE UNIQUE INDEX uq_webhook_deliveries_due ON webhook_deliveries USING btree (endpoint_id, snooze_id, scheduled_for) WHERE (event = 'due'::text);

CREATE TRIGGER accounts_move_day AFTER UPDATE ON accounts FOR EACH ROW WHEN ((new.zone <> old.zone)) EXECUTE FUNCTION accounts_move_day();

CREATE TRIGGER audit_log_append BEFORE INSERT ON audit_log FOR EACH ROW EXECUTE FUNCTION audit_log_append();

CREATE TRIGGER audit_log_keep BEFORE DELETE OR UPDATE OR TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION audit_log_refuse();

CREATE TRIGGER email_snoozes_deleted AFTER DELETE ON email_snoozes REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION email_snoozes_deleted();

CREATE TRIGGER email_snoozes_enter BEFORE INSERT ON email_snoozes FOR EACH ROW EXECUTE FUNCTION email_snoozes_enter();

CREATE TRIGGER email_snoozes_inserted AFTER INSERT ON email_snoozes REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION email_snoozes_inserted();

CREATE TRIGGER email_snoozes_move_return AFTER UPDATE ON email_snoozes FOR EACH ROW WHEN ((((NOT new.inactive) AND old.inactive) OR ((NOT new.inactive) AND (COALESCE(new.scheduled_for, new.remind_at) <> COALESCE(old.scheduled_for, old.remind_at))) OR (new.inactive AND (NOT old.inactive) AND (COALESCE(new.outcome, 'paused'::text) = ANY (ARRAY['paused'::text, 'cancelled'::text]))) OR ((new.outcome = 'cancelled'::text) AND (old.outcome IS NULL)))) EXECUTE FUNCTION email_snoozes_move_return();

CREATE TRIGGER email_snoozes_note_update AFTER UPDATE ON email_snoozes REFERENCING OLD TABLE AS gone NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION email_snoozes_note_update();

CREATE TRIGGER email_snoozes_promise BEFORE UPDATE OF remind_at, inactive, outcome, claimed_at, claimed_by, claim_token, lease_expires_at ON email_snoozes FOR EACH ROW WHEN ((((new.remind_at <> old.remind_at) AND (NOT ((old.claim_token IS NOT NULL) AND (new.claim_token IS NULL) AND (new.scheduled_for IS NOT NULL)))) OR (new.inactive AND (new.claimed_at IS NOT NULL)) OR ((old.outcome = 'retired'::text) AND (NOT new.inactive)) OR ((new.paused_by IS NOT NULL) AND ((NOT new.inactive) OR (new.outcome IS NOT NULL))) OR (num_nulls(new.claimed_at, new.claimed_by, new.claim_token, new.lease_expires_at) = ANY (ARRAY[1, 2, 3])))) EXECUTE FUNCTION email_snoozes_promise();

CREATE TRIGGER email_snoozes_webhook_update AFTER UPDATE ON email_snoozes REFERENCING OLD TABLE AS gone NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION email_snoozes_webhook_update();

CREATE TRIGGER kept_messages_insert INSTEAD OF INSERT ON kept_messages FOR EACH ROW EXECUTE FUNCTION kept_messages_insert();

CREATE TRIGGER messages_fill_return BEFORE INSERT ON messages FOR EACH ROW EXECUTE FUNCTION messages_fill_return();

CREATE TRIGGER messages_forget_deferral BEFORE UPDATE ON messages FOR EACH ROW WHEN (((old.deferred_until IS NOT NULL) AND (new.returns_at IS DISTINCT FROM old.returns_at))) EXECUTE FUNCTION messages_forget_deferral();

CREATE TRIGGER messages_note_delete AFTER DELETE ON messages REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION list_changes_note_delete();

CREATE TRIGGER messages_note_insert AFTER INSERT ON messages REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION list_changes_note_insert();

CREATE TRIGGER messages_note_update AFTER UPDATE ON messages REFERENCING OLD TABLE AS gone NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION messages_note_update();

CREATE TRIGGER messages_stay BEFORE UPDATE ON messages FOR EACH ROW WHEN (((NOT old.returns) OR (NOT new.returns))) EXECUTE FUNCTION messages_stay();

CREATE TRIGGER messages_webhook_done AFTER UPDATE OF folder, place ON messages FOR EACH ROW WHEN (((new.is_kept AND (new.folder = 'done'::text) AND (old.folder <> 'done'::text)) OR ((new.place = 'aside'::text) AND (new.wanted = 'aside'::text) AND (old.place <> 'aside'::text)))) EXECUTE FUNCTION messages_webhook_done();

CREATE TRIGGER reminder_sends_keep_sent BEFORE UPDATE ON reminder_sends FOR EACH ROW WHEN (((old.state = 'sent'::text) AND (new.state <> 'sent'::text))) EXECUTE FUNCTION reminder_sends_keep_sent();

CREATE TRIGGER reminder_sends_push_reminder AFTER UPDATE ON reminder_sends FOR EACH ROW WHEN (((new.channel = 'email'::text) AND (new.state = 'sent'::text) AND (old.state <> 'sent'::text) AND (new.resolution IS DISTINCT FROM 'answered'::text) AND (new.sent_at > (clock_timestamp() - '01:00:00'::interval)))) EXECUTE FUNCTION reminder_sends_push();

CREATE TRIGGER reminder_sends_push_return AFTER INSERT ON reminder_sends FOR EACH ROW WHEN (((new.channel = 'mailbox'::text) AND (new.state = 'sent'::text) AND (new.sent_at > (clock_timestamp() - '01:00:00'::interval)))) EXECUTE FUNCTION reminder_sends_push();

CREATE TRIGGER reminder_sends_webhook_reminder AFTER UPDATE ON reminder_sends FOR EACH ROW WHEN (((new.channel = 'email'::text) AND (new.state = 'sent'::text) AND (old.state <> 'sent'::text))) EXECUTE FUNCTION reminder_sends_webhook();

CREATE TRIGGER reminder_sends_webhook_return AFTER INSERT ON reminder_sends FOR EACH ROW WHEN (((new.channel = 'mailbox'::text) AND (new.state = 'sent'::text) AND (new.sent_at > (clock_timestamp() - '01:00:00'::interval)))) EXECUTE FUNCTION reminder_sends_webhook();

CREATE TRIGGER snooze_events_webhook_done AFTER INSERT ON snooze_events FOR EACH ROW WHEN ((new.kind = 'done'::text)) EXECUTE FUNCTION snooze_events_webhook_done();

ALTER TABLE ONLY account_deletions
    ADD CONSTRAINT fk_account_deletions_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE;

ALTER TABLE ONLY account_identities
    ADD CONSTRAINT fk_account_identities_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE;

ALTER TABLE ONLY account_phrases
    ADD CONSTRAINT fk_account_phrases_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE;

ALTER TABLE ONLY account_presets
    ADD CONSTRAINT fk_account_presets_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE;

ALTER TABLE ONLY api_tokens
    ADD CONSTRAINT fk_api_tokens_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE;

ALTER TABLE ONLY bulk_acts
    ADD CONSTRAINT fk_bulk_acts_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE;

ALTER TABLE ONLY case_views
    ADD CONSTRAINT fk_case_views_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE;

ALTER TABLE ONLY day_shapes
    ADD CONSTRAINT fk_day_shapes_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE;

ALTER TABLE ONLY digest_members
    ADD CONSTRAINT fk_digest_members_digest FOREIGN KEY (digest_id) REFERENCES digests(id) ON DELETE CASCADE;

ALTER TABLE ONLY digests
    ADD CONSTRAINT fk_digests_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE;

ALTER TABLE ONLY feeds
    ADD CONSTRAINT fk_feeds_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE;

ALTER TABLE ONLY idempotency_keys
    ADD CONSTRAINT fk_idempotency_keys_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE;

ALTER TABLE ONLY import_rows
    ADD CONSTRAINT fk_import_rows_import FOREIGN KEY (import_id) REFERENCES imports(id) ON DELETE CASCADE;

ALTER TABLE ONLY imports
    ADD CONSTRAINT fk_imports_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE;

ALTER TABLE ONLY mailbox_flagged
    ADD CONSTRAINT fk_mailbox_flagged_mailbox FOREIGN KEY (mailbox_id) REFERENCES mailboxes(id) ON DELETE CASCADE;

ALTER TABLE ONLY mailbox_sign_ins
    ADD CONSTRAINT fk_mailbox_sign_ins_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE;

ALTER TABLE ONLY mailbox_sign_ins
    ADD CONSTRAINT fk_mailbox_sign_ins_mailbox FOREIGN KEY (mailbox_id) REFERENCES mailboxes(id) ON DELETE CASCADE;

ALTER TABLE ONLY mailboxes
    ADD CONSTRAINT fk_mailboxes_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE;

ALTER TABLE ONLY message_originals
    ADD CONSTRAINT fk_message_originals_message FOREIGN KEY (id) REFERENCES messages(id) ON DELETE CASCADE;

ALTER TABLE ONLY messages
    ADD CONSTRAINT fk_messages_mailbox FOREIGN KEY (mailbox_id) REFERENCES mailboxes(id) ON DELETE CASCADE;

ALTER TABLE ONLY operation_members
    ADD CONSTRAINT fk_operation_members_operation FOREIGN KEY (operation_id) REFERENCES operations(id) ON DELETE CASCADE;

ALTER TABLE ONLY push_devices
    ADD CONSTRAINT fk_push_devices_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE;

ALTER TABLE ONLY push_devices
    ADD CONSTRAINT fk_push_devices_key FOREIGN KEY (key_id) REFERENCES push_keys(id);

ALTER TABLE ONLY reminder_sends
    ADD CONSTRAINT fk_reminder_sends_snooze FOREIGN KEY (snooze_id) REFERENCES email_snoozes(id);

ALTER TABLE ONLY sessions
    ADD CONSTRAINT fk_sessions_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE;

ALTER TABLE ONLY sign_ins
    ADD CONSTRAINT fk_sign_ins_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE;

ALTER TABLE ONLY webhook_endpoints
    ADD CONSTRAINT fk_webhook_endpoints_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE;
