-- By `make schema`: the tables after migration 0133, as pg_dump of PostgreSQL 15 writes them.
-- Functions, triggers and views are in snoozer/db/sql/functions and snoozer/db/sql/views.

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
    CONSTRAINT ck_audit_log_actor CHECK ((actor ~ '^((operator|user):[0-9]+|command|clock|provider|mail)$'::text)),
    CONSTRAINT ck_audit_log_texts_fit CHECK ((((length(act) >= 1) AND (length(act) <= 100)) AND (length(reason) <= 1000) AND (length(request_id) <= 200) AND (length(target) <= 200))),
    CONSTRAINT ck_audit_log_without_addresses CHECK ((concat_ws(' '::text, reason, target, before, after) !~ '[[:alnum:]]@[[:alnum:]]'::text))
);

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
    recipient text,
    late_by interval,
    CONSTRAINT ck_reminder_sends_channel CHECK ((channel = ANY (ARRAY['email'::text, 'mailbox'::text]))),
    CONSTRAINT ck_reminder_sends_mail_is_whole CHECK (((channel <> 'email'::text) OR (num_nulls(reminder_message_id, claim_token) = 0))),
    CONSTRAINT ck_reminder_sends_resolution_is_whole CHECK ((num_nulls(resolution, resolved_by, resolved_at) = ANY (ARRAY[0, 3]))),
    CONSTRAINT ck_reminder_sends_sending_is_marked CHECK (((state <> 'sending'::text) OR ((dot_authorised_at IS NOT NULL) AND (bytes_sha256 IS NOT NULL)))),
    CONSTRAINT ck_reminder_sends_sent_is_dated CHECK (((state = 'sent'::text) = (sent_at IS NOT NULL))),
    CONSTRAINT ck_reminder_sends_state CHECK ((state = ANY (ARRAY['reserved'::text, 'sending'::text, 'sent'::text, 'failed'::text, 'uncertain'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_threshold='1000', autovacuum_analyze_scale_factor='0.05');

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

CREATE TABLE account_addresses (
    email text NOT NULL,
    account_id bigint NOT NULL,
    gets_mail boolean DEFAULT false NOT NULL,
    verified_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

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
    mail_key text DEFAULT substr(replace((gen_random_uuid())::text, '-'::text, ''::text), 1, 20) NOT NULL,
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

CREATE TABLE alarms (
    id bigint NOT NULL,
    sentence text NOT NULL,
    began_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    ended_at timestamp with time zone
);

CREATE SEQUENCE alarms_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE alarms_id_seq OWNED BY alarms.id;

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
    review_on smallint DEFAULT 5 NOT NULL,
    CONSTRAINT ck_day_shapes_gathers_over CHECK (((gathers_over >= 3) AND (gathers_over <= 50))),
    CONSTRAINT ck_day_shapes_quiet_hours CHECK (((num_nulls(quiet_from, quiet_until) = ANY (ARRAY[0, 2])) AND ((quiet_from <> quiet_until) IS NOT FALSE) AND ((quiet_until_off IS NULL) OR ((quiet_from IS NOT NULL) AND (quiet_until_off <> quiet_from))))),
    CONSTRAINT ck_day_shapes_rest CHECK (((num_nulls(rest_from, rest_until, rest_reason) = ANY (ARRAY[0, 3])) AND ((rest_from < rest_until) IS NOT FALSE) AND (rest_reason = ANY (ARRAY['quiet'::text, 'day off'::text, 'vacation'::text])))),
    CONSTRAINT ck_day_shapes_review_on CHECK (((review_on >= 1) AND (review_on <= 7))),
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
    late_from timestamp with time zone,
    recipient text,
    late_by interval
)
PARTITION BY RANGE (finished_at);

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
    snoozed_with bigint,
    return_path text,
    was_unread boolean DEFAULT false NOT NULL,
    CONSTRAINT ck_messages_aside_has_its_folder CHECK (((aside IS NOT NULL) OR (('aside'::text <> place) AND ('aside'::text <> wanted)))),
    CONSTRAINT ck_messages_connected_is_whole CHECK ((is_kept OR (num_nulls(fingerprint, internal_date, home, place, wanted, uidvalidity, uid) = 0))),
    CONSTRAINT ck_messages_folder CHECK (((NOT is_kept) OR (folder = ANY (ARRAY['inbox'::text, 'snoozed'::text, 'done'::text, 'reminders'::text])))),
    CONSTRAINT ck_messages_intent_is_whole CHECK ((num_nulls(moving_to, target_folder, target_uidvalidity, target_uidnext) = ANY (ARRAY[0, 4]))),
    CONSTRAINT ck_messages_kept_is_whole CHECK (((NOT is_kept) OR (num_nulls(sha256, unread, returned, surfaced_at) = 0))),
    CONSTRAINT ck_messages_missing_has_its_time CHECK (((place = 'missing'::text) = (missing_since IS NOT NULL))),
    CONSTRAINT ck_messages_moving_to CHECK ((moving_to = ANY (ARRAY['home'::text, 'snoozed'::text, 'aside'::text]))),
    CONSTRAINT ck_messages_place CHECK ((place = ANY (ARRAY['home'::text, 'snoozed'::text, 'aside'::text, 'missing'::text]))),
    CONSTRAINT ck_messages_return_is_whole CHECK (((returns_at IS NULL) OR (snooze_id IS NOT NULL))),
    CONSTRAINT ck_messages_wanted CHECK ((wanted = ANY (ARRAY['home'::text, 'snoozed'::text, 'aside'::text]))),
    CONSTRAINT ck_messages_what_stays_has_no_return CHECK ((returns OR (returns_at IS NULL)))
);

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

CREATE UNLOGGED TABLE list_changes (
    transaction_id bigint NOT NULL,
    people integer[] NOT NULL
);

CREATE UNLOGGED TABLE list_checkpoints (
    snapshot text NOT NULL,
    taken_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE mail_acts (
    id bigint NOT NULL,
    account_id bigint NOT NULL,
    sha256 text NOT NULL,
    received_at timestamp with time zone DEFAULT now() NOT NULL,
    understood boolean DEFAULT false NOT NULL,
    message_id text,
    snooze_id bigint,
    scheduled_for timestamp with time zone,
    words jsonb DEFAULT '{}'::jsonb NOT NULL,
    due_at timestamp with time zone
);

CREATE SEQUENCE mail_acts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE mail_acts_id_seq OWNED BY mail_acts.id;

CREATE TABLE mailbox_flagged (
    mailbox_id bigint NOT NULL,
    uid bigint NOT NULL
);

CREATE TABLE mailbox_searches (
    mailbox_id bigint NOT NULL,
    snooze_id bigint NOT NULL,
    entered_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    found smallint,
    seen jsonb,
    whole boolean DEFAULT true NOT NULL
);

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
    reads_asleep boolean DEFAULT false NOT NULL,
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

CREATE TABLE message_originals (
    id bigint NOT NULL,
    original bytea NOT NULL
);

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
    key_id bigint,
    name text NOT NULL,
    endpoint text,
    public_key bytea,
    auth_secret bytea,
    shows_subject boolean DEFAULT false NOT NULL,
    problem text,
    failures integer DEFAULT 0 NOT NULL,
    quiet_until timestamp with time zone,
    sent_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    service text,
    address bytea,
    tells_alarms boolean DEFAULT false NOT NULL,
    CONSTRAINT ck_push_devices_keys CHECK (((octet_length(public_key) = 65) AND (octet_length(auth_secret) = 16))),
    CONSTRAINT ck_push_devices_kind CHECK (((num_nonnulls(service, address) =
CASE
    WHEN (service IS NULL) THEN 0
    ELSE 2
END) AND (num_nulls(key_id, endpoint, public_key, auth_secret) =
CASE
    WHEN (service IS NULL) THEN 0
    ELSE 4
END)))
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
    snooze_id bigint,
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
    alarm_id bigint,
    alarm_ended boolean,
    remote_id text,
    withdraws bigint,
    CONSTRAINT ck_push_sends_alarm CHECK (((num_nonnulls(alarm_id, alarm_ended) <> 1) AND (num_nonnulls(alarm_id, snooze_id) < 2))),
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
    email_hash text,
    address text
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
    detail jsonb DEFAULT '{}'::jsonb NOT NULL,
    token_id bigint
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

ALTER TABLE ONLY alarms ALTER COLUMN id SET DEFAULT nextval('alarms_id_seq'::regclass);

ALTER TABLE ONLY api_tokens ALTER COLUMN id SET DEFAULT nextval('api_tokens_id_seq'::regclass);

ALTER TABLE ONLY case_views ALTER COLUMN id SET DEFAULT nextval('case_views_id_seq'::regclass);

ALTER TABLE ONLY digests ALTER COLUMN id SET DEFAULT nextval('digests_id_seq'::regclass);

ALTER TABLE ONLY email_snoozes ALTER COLUMN id SET DEFAULT nextval('email_snoozes_id_seq'::regclass);

ALTER TABLE ONLY feeds ALTER COLUMN id SET DEFAULT nextval('feeds_id_seq'::regclass);

ALTER TABLE ONLY mail_acts ALTER COLUMN id SET DEFAULT nextval('mail_acts_id_seq'::regclass);

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

ALTER TABLE ONLY account_addresses
    ADD CONSTRAINT pk_account_addresses PRIMARY KEY (email);

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

ALTER TABLE ONLY alarms
    ADD CONSTRAINT pk_alarms PRIMARY KEY (id);

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

ALTER TABLE ONLY mail_acts
    ADD CONSTRAINT pk_mail_acts PRIMARY KEY (id);

ALTER TABLE ONLY mailbox_flagged
    ADD CONSTRAINT pk_mailbox_flagged PRIMARY KEY (mailbox_id, uid);

ALTER TABLE ONLY mailbox_searches
    ADD CONSTRAINT pk_mailbox_searches PRIMARY KEY (mailbox_id, snooze_id);

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

ALTER TABLE ONLY accounts
    ADD CONSTRAINT uq_accounts_mail_key UNIQUE (mail_key);

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

ALTER TABLE ONLY mail_acts
    ADD CONSTRAINT uq_mail_acts_mail UNIQUE (account_id, sha256);

ALTER TABLE ONLY mailboxes
    ADD CONSTRAINT uq_mailboxes_login UNIQUE (account_id, host, username);

ALTER TABLE ONLY operations
    ADD CONSTRAINT uq_operations_form UNIQUE (form);

ALTER TABLE ONLY push_devices
    ADD CONSTRAINT uq_push_devices_endpoint UNIQUE (endpoint);

ALTER TABLE ONLY push_sends
    ADD CONSTRAINT uq_push_sends_alarm UNIQUE (device_id, alarm_id, alarm_ended);

ALTER TABLE ONLY push_sends
    ADD CONSTRAINT uq_push_sends_promise UNIQUE (device_id, snooze_id, scheduled_for);

ALTER TABLE ONLY push_sends
    ADD CONSTRAINT uq_push_sends_withdraws UNIQUE (withdraws);

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

CREATE INDEX ix_account_addresses_account ON account_addresses USING btree (account_id);

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

CREATE INDEX ix_email_snoozes_of_message ON email_snoozes USING btree (user_email, md5(message_id), id) WHERE inactive;

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

CREATE INDEX ix_mail_acts_due ON mail_acts USING btree (due_at, id) WHERE (due_at IS NOT NULL);

CREATE INDEX ix_mail_acts_received ON mail_acts USING btree (received_at);

CREATE INDEX ix_mailbox_searches_snooze ON mailbox_searches USING btree (snooze_id);

CREATE INDEX ix_mailbox_sign_ins_account ON mailbox_sign_ins USING btree (account_id);

CREATE INDEX ix_mailbox_sign_ins_created ON mailbox_sign_ins USING btree (created_at);

CREATE INDEX ix_mailbox_sign_ins_mailbox ON mailbox_sign_ins USING btree (mailbox_id);

CREATE INDEX ix_messages_asleep ON messages USING btree (user_email, COALESCE(GREATEST(returns_at, deferred_until), surfaced_at), id) WHERE (is_kept AND (folder = 'snoozed'::text));

CREATE INDEX ix_messages_back ON messages USING btree (user_email, surfaced_at, id) WHERE (is_kept AND returned AND unread AND (folder = 'inbox'::text));

CREATE INDEX ix_messages_folder ON messages USING btree (user_email, folder, surfaced_at, id) INCLUDE (unread) WHERE is_kept;

CREATE INDEX ix_messages_returns ON messages USING btree (is_kept, GREATEST(returns_at, deferred_until)) WHERE (returns_at IS NOT NULL);

CREATE INDEX ix_messages_sha256 ON messages USING btree (user_email, sha256) WHERE is_kept;

CREATE INDEX ix_messages_snooze ON messages USING btree (snooze_id) WHERE (snooze_id IS NOT NULL);

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

CREATE INDEX ix_push_sends_remote ON push_sends USING btree (account_id) WHERE (remote_id IS NOT NULL);

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

CREATE INDEX ix_snooze_events_token ON snooze_events USING btree (token_id, at) WHERE (token_id IS NOT NULL);

CREATE INDEX ix_webhook_deliveries_account ON webhook_deliveries USING btree (account_id);

CREATE INDEX ix_webhook_deliveries_claimed ON webhook_deliveries USING btree (endpoint_id) WHERE (claim_token IS NOT NULL);

CREATE INDEX ix_webhook_deliveries_endpoint ON webhook_deliveries USING btree (endpoint_id, id);

CREATE INDEX ix_webhook_deliveries_occurred ON webhook_deliveries USING btree (occurred_at);

CREATE INDEX ix_webhook_deliveries_order ON webhook_deliveries USING btree (endpoint_id, snooze_id, id) WHERE (state = 'waiting'::text);

CREATE INDEX ix_webhook_deliveries_try ON webhook_deliveries USING btree (try_at) WHERE (state = 'waiting'::text);

CREATE INDEX ix_webhook_deliveries_waiting ON webhook_deliveries USING btree (endpoint_id, try_at, id) WHERE (state = 'waiting'::text);

CREATE INDEX ix_webhook_endpoints_notice ON webhook_endpoints USING btree (notice_at) WHERE (notice_at IS NOT NULL);

CREATE INDEX ix_webhook_endpoints_on ON webhook_endpoints USING btree (turn_at, id) WHERE is_on;

CREATE UNIQUE INDEX uq_account_addresses_gets_mail ON account_addresses USING btree (account_id) WHERE gets_mail;

CREATE UNIQUE INDEX uq_alarms_open ON alarms USING btree (((ended_at IS NULL))) WHERE (ended_at IS NULL);

CREATE UNIQUE INDEX uq_email_snoozes_in_flight ON email_snoozes USING btree (serialization_key) WHERE ((claimed_at IS NOT NULL) AND (serialization_key IS NOT NULL));

CREATE UNIQUE INDEX uq_email_snoozes_live ON email_snoozes USING btree (user_email, message_id) WHERE (NOT inactive);

CREATE UNIQUE INDEX uq_messages_message ON messages USING btree (user_email, message_id, is_kept DESC);

CREATE UNIQUE INDEX uq_messages_uid ON messages USING btree (mailbox_id, folder, uidvalidity, uid) WHERE (mailbox_id IS NOT NULL);

CREATE UNIQUE INDEX uq_pauses_active ON pauses USING btree (kind, value) WHERE (ended_at IS NULL);

CREATE UNIQUE INDEX uq_push_sends_test ON push_sends USING btree (device_id) WHERE ((snooze_id IS NULL) AND (alarm_id IS NULL) AND (withdraws IS NULL) AND (state = ANY (ARRAY['reserved'::text, 'sending'::text])));

CREATE UNIQUE INDEX uq_snooze_events_report ON snooze_events USING btree (snooze_id, kind, ((detail ->> 'promise'::text)), ((detail ->> 'code'::text))) WHERE (route = 'report'::text);

CREATE UNIQUE INDEX uq_webhook_deliveries_due ON webhook_deliveries USING btree (endpoint_id, snooze_id, scheduled_for) WHERE (event = 'due'::text);

ALTER TABLE ONLY account_addresses
    ADD CONSTRAINT fk_account_addresses_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE;

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

ALTER TABLE ONLY mail_acts
    ADD CONSTRAINT fk_mail_acts_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE;

ALTER TABLE ONLY mailbox_flagged
    ADD CONSTRAINT fk_mailbox_flagged_mailbox FOREIGN KEY (mailbox_id) REFERENCES mailboxes(id) ON DELETE CASCADE;

ALTER TABLE ONLY mailbox_searches
    ADD CONSTRAINT fk_mailbox_searches_mailbox FOREIGN KEY (mailbox_id) REFERENCES mailboxes(id) ON DELETE CASCADE;

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
