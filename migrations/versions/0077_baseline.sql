-- The tables of the first release. Functions, triggers and views are in snoozer/db/sql/functions and views.

CREATE TABLE accepted_timelines (
    id bigserial,
    system_identifier bigint,
    database_oid bigint,
    timeline text,
    accepted_at timestamptz DEFAULT clock_timestamp() NOT NULL,
    accepted_by text NOT NULL,
    CONSTRAINT pk_accepted_timelines PRIMARY KEY (id)
);

CREATE TABLE accounts (
    id bigserial,
    email text NOT NULL,
    role text DEFAULT 'user' NOT NULL,
    zone text DEFAULT 'UTC' NOT NULL,
    locale text DEFAULT 'en_GB' NOT NULL,
    verified_at timestamptz,
    disabled_at timestamptz,
    zone_chosen boolean DEFAULT false NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    browsers_forgotten integer DEFAULT 0 NOT NULL,
    group_role text,
    signed_in_at timestamptz,
    group_role_at timestamptz,
    CONSTRAINT pk_accounts PRIMARY KEY (id),
    CONSTRAINT uq_accounts_email UNIQUE (email),
    CONSTRAINT ck_accounts_email_is_folded CHECK (email = lower(email)),
    CONSTRAINT ck_accounts_group_role CHECK (group_role IN ('viewer', 'operator', 'admin')),
    CONSTRAINT ck_accounts_role CHECK (role IN ('user', 'viewer', 'operator', 'admin'))
);

CREATE TABLE audit_log (
    id bigint NOT NULL,
    at timestamptz NOT NULL,
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
    CONSTRAINT pk_audit_log PRIMARY KEY (id),
    CONSTRAINT ck_audit_log_actor CHECK (actor ~ '^((operator|user):[0-9]+|command|clock|provider)$'),
    CONSTRAINT ck_audit_log_texts_fit CHECK (
        (length(act) BETWEEN 1 AND 100)
        AND (length(reason) <= 1000)
        AND (length(request_id) <= 200)
        AND (length(target) <= 200)
    ),
    CONSTRAINT ck_audit_log_without_addresses CHECK (
        concat_ws(' ', reason, target, before, after) !~ '[[:alnum:]]@[[:alnum:]]'
    )
);
CREATE INDEX ix_audit_log_act ON audit_log (act, id);
CREATE INDEX ix_audit_log_actor ON audit_log (actor, id);
CREATE INDEX ix_audit_log_at ON audit_log (at, id);
CREATE INDEX ix_audit_log_operation ON audit_log (operation_id, id) WHERE (operation_id IS NOT NULL);
CREATE INDEX ix_audit_log_snooze ON audit_log (snooze_id, id) WHERE (snooze_id IS NOT NULL);

CREATE TABLE circuit_breakers (
    server text NOT NULL,
    state text DEFAULT 'closed' NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    last_failure text,
    opened_at timestamptz,
    probe_token uuid,
    probe_at timestamptz,
    updated_at timestamptz DEFAULT now() NOT NULL,
    refuses_everybody boolean DEFAULT false NOT NULL,
    away_since timestamptz,
    closed_at timestamptz,
    last_success_at timestamptz,
    last_failure_at timestamptz,
    tripped_at timestamptz,
    tripped_by text,
    trip_reason text,
    CONSTRAINT pk_circuit_breakers PRIMARY KEY (server),
    CONSTRAINT ck_circuit_breakers_failures CHECK (failures >= 0),
    CONSTRAINT ck_circuit_breakers_state CHECK (state IN ('closed', 'open', 'half-open')),
    CONSTRAINT ck_circuit_breakers_trip_is_whole CHECK (num_nulls(tripped_at, tripped_by, trip_reason) IN (0, 3)),
    CONSTRAINT ck_circuit_breakers_tripped_is_open CHECK ((tripped_at IS NULL) OR (state = 'open'))
);

CREATE TABLE definitions (
    name text NOT NULL,
    source text NOT NULL,
    present text NOT NULL,
    CONSTRAINT pk_definitions PRIMARY KEY (name)
);

CREATE TABLE email_snoozes (
    id bigserial,
    user_email text NOT NULL,
    message_id text NOT NULL,
    subject text,
    sender_email text,
    remind_at timestamptz NOT NULL,
    snooze_duration_hours integer,
    claimed_at timestamptz,
    claimed_by text,
    claim_token uuid,
    attempts integer DEFAULT 0 NOT NULL,
    max_attempts integer DEFAULT 5 NOT NULL,
    inactive boolean DEFAULT false NOT NULL,
    last_error text,
    last_error_at timestamptz,
    created_at timestamptz DEFAULT now() NOT NULL,
    updated_at timestamptz DEFAULT now() NOT NULL,
    scheduled_for timestamptz,
    outcome text,
    finished_at timestamptz,
    priority smallint DEFAULT 0 NOT NULL,
    crash_count integer DEFAULT 0 NOT NULL,
    lease_expires_at timestamptz,
    bucket smallint NOT NULL,
    note text,
    recurrence jsonb,
    reply_policy text,
    mailbox text,
    origin_folder text,
    wall_time timestamp,
    zone text,
    time_kind text,
    traceparent text,
    schema_version smallint DEFAULT 1 NOT NULL,
    serialization_key text,
    behind_key boolean DEFAULT false NOT NULL,
    reply_scope text,
    reply_since timestamptz,
    deferred_until timestamptz,
    deferred_by text,
    at_any_hour boolean DEFAULT false NOT NULL,
    paused_by bigint,
    reference text,
    CONSTRAINT pk_email_snoozes PRIMARY KEY (id),
    CONSTRAINT ck_email_snoozes_attempts CHECK ((attempts >= 0) AND (max_attempts >= 1) AND (crash_count >= 0)),
    CONSTRAINT ck_email_snoozes_claim_is_whole CHECK (
        num_nulls(claimed_at, claimed_by, claim_token, lease_expires_at) IN (0, 4)
    ),
    CONSTRAINT ck_email_snoozes_deferral_is_whole CHECK (num_nulls(deferred_until, deferred_by) IN (0, 2)),
    CONSTRAINT ck_email_snoozes_finished_is_inactive CHECK ((outcome IS NULL) OR inactive),
    CONSTRAINT ck_email_snoozes_inactive_is_unclaimed CHECK ((NOT inactive) OR (claimed_at IS NULL)),
    CONSTRAINT ck_email_snoozes_names_someone CHECK ((user_email <> '') AND (message_id <> '')),
    CONSTRAINT ck_email_snoozes_other_times_are_of_this_age CHECK (
        (claimed_at BETWEEN '1970-01-01 00:00:00+00' AND '9999-01-01 00:00:00+00')
        AND (lease_expires_at BETWEEN '1970-01-01 00:00:00+00' AND '9999-01-01 00:00:00+00')
        AND (last_error_at BETWEEN '1970-01-01 00:00:00+00' AND '9999-01-01 00:00:00+00')
        AND (created_at BETWEEN '1970-01-01 00:00:00+00' AND '9999-01-01 00:00:00+00')
        AND (updated_at BETWEEN '1970-01-01 00:00:00+00' AND '9999-01-01 00:00:00+00')
        AND (finished_at BETWEEN '1970-01-01 00:00:00+00' AND '9999-01-01 00:00:00+00')
    ),
    CONSTRAINT ck_email_snoozes_outcome CHECK (outcome IN ('sent', 'cancelled', 'retired')),
    CONSTRAINT ck_email_snoozes_outcome_is_dated CHECK ((outcome IS NULL) = (finished_at IS NULL)),
    CONSTRAINT ck_email_snoozes_paused_is_inactive CHECK ((paused_by IS NULL) OR (inactive AND (outcome IS NULL))),
    CONSTRAINT ck_email_snoozes_priority CHECK ((priority >= -1000) AND (priority <= 1000)),
    CONSTRAINT ck_email_snoozes_reference CHECK (char_length(reference) <= 200),
    CONSTRAINT ck_email_snoozes_reply_policy CHECK (reply_policy IN ('keep', 'cancel_on_reply', 'until_reply')),
    CONSTRAINT ck_email_snoozes_reply_scope CHECK (reply_scope IN ('message', 'thread')),
    CONSTRAINT ck_email_snoozes_time_kind CHECK (time_kind IN ('elapsed', 'wall')),
    CONSTRAINT ck_email_snoozes_times_are_of_this_age CHECK (
        (remind_at BETWEEN '1970-01-01 00:00:00+00' AND '9999-01-01 00:00:00+00')
        AND (scheduled_for BETWEEN '1970-01-01 00:00:00+00' AND '9999-01-01 00:00:00+00')
    )
) WITH (
    fillfactor = 80,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.02,
    autovacuum_vacuum_cost_limit = 2000
);
CREATE INDEX ix_email_snoozes_behind ON email_snoozes (serialization_key)
    WHERE ((NOT inactive) AND (claimed_at IS NULL) AND behind_key);
CREATE INDEX ix_email_snoozes_case_classes ON email_snoozes (snooze_error_class(last_error), finished_at, id)
    WHERE (outcome = 'retired');
CREATE INDEX ix_email_snoozes_case_domains ON email_snoozes (snooze_recipient_domain(user_email), finished_at, id)
    WHERE (outcome = 'retired');
CREATE INDEX ix_email_snoozes_case_errors ON email_snoozes (snooze_error_fingerprint(last_error), finished_at, id)
    WHERE (outcome = 'retired');
CREATE INDEX ix_email_snoozes_case_messages ON email_snoozes (md5(message_id)) WHERE (outcome = 'retired');
CREATE INDEX ix_email_snoozes_cases ON email_snoozes (finished_at, id) WHERE (outcome = 'retired');
CREATE INDEX ix_email_snoozes_claimed_by ON email_snoozes (claimed_by) WHERE (claimed_at IS NOT NULL);
CREATE INDEX ix_email_snoozes_due ON email_snoozes (remind_at) WHERE ((NOT inactive) AND (claimed_at IS NULL));
CREATE INDEX ix_email_snoozes_exhausted ON email_snoozes (remind_at)
    WHERE ((NOT inactive) AND (claimed_at IS NULL) AND (attempts >= max_attempts));
CREATE INDEX ix_email_snoozes_finished ON email_snoozes (finished_at, id) WHERE (outcome IN ('sent', 'cancelled'));
CREATE INDEX ix_email_snoozes_key ON email_snoozes (serialization_key, remind_at, id)
    WHERE ((NOT inactive) AND (claimed_at IS NULL) AND (serialization_key IS NOT NULL));
CREATE INDEX ix_email_snoozes_lane ON email_snoozes
    (priority, LEAST(crash_count, 2), num_nonnulls(serialization_key), remind_at, id)
    WHERE ((NOT inactive)
        AND (claimed_at IS NULL)
        AND (NOT behind_key));
CREATE INDEX ix_email_snoozes_of_person ON email_snoozes (user_email, outcome, remind_at, id);
CREATE INDEX ix_email_snoozes_paused ON email_snoozes (id) WHERE (inactive AND (outcome IS NULL));
CREATE INDEX ix_email_snoozes_paused_by ON email_snoozes (paused_by, id) WHERE (paused_by IS NOT NULL);
CREATE INDEX ix_email_snoozes_poison ON email_snoozes (remind_at)
    WHERE ((NOT inactive) AND (claimed_at IS NULL) AND (NOT behind_key) AND (crash_count > 1));
CREATE INDEX ix_email_snoozes_put_back ON email_snoozes (remind_at)
    WHERE ((NOT inactive) AND (claimed_at IS NULL) AND (scheduled_for IS NOT NULL));
CREATE INDEX ix_email_snoozes_reply ON email_snoozes (user_email)
    WHERE ((NOT inactive) AND (reply_policy IN ('cancel_on_reply', 'until_reply')));
CREATE UNIQUE INDEX uq_email_snoozes_in_flight ON email_snoozes (serialization_key)
    WHERE ((claimed_at IS NOT NULL) AND (serialization_key IS NOT NULL));
CREATE UNIQUE INDEX uq_email_snoozes_live ON email_snoozes (user_email, message_id) WHERE (NOT inactive);

CREATE TABLE email_snoozes_archive (
    id bigint NOT NULL,
    user_email text NOT NULL,
    message_id text NOT NULL,
    subject text,
    sender_email text,
    remind_at timestamptz NOT NULL,
    snooze_duration_hours integer,
    claimed_at timestamptz,
    claimed_by text,
    claim_token uuid,
    attempts integer NOT NULL,
    max_attempts integer NOT NULL,
    inactive boolean NOT NULL,
    last_error text,
    last_error_at timestamptz,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    scheduled_for timestamptz,
    outcome text,
    finished_at timestamptz NOT NULL,
    priority smallint NOT NULL,
    crash_count integer NOT NULL,
    lease_expires_at timestamptz,
    bucket smallint NOT NULL,
    note text,
    recurrence jsonb,
    reply_policy text,
    mailbox text,
    origin_folder text,
    wall_time timestamp,
    zone text,
    time_kind text,
    traceparent text,
    schema_version smallint NOT NULL,
    serialization_key text,
    behind_key boolean NOT NULL,
    reply_scope text,
    reply_since timestamptz,
    deferred_until timestamptz,
    deferred_by text,
    at_any_hour boolean NOT NULL,
    paused_by bigint,
    reference text,
    CONSTRAINT pk_email_snoozes_archive PRIMARY KEY (id, finished_at)
)
PARTITION BY RANGE (finished_at);
CREATE INDEX ix_email_snoozes_archive_person ON email_snoozes_archive (user_email, id);

CREATE TABLE housekeeping_runs (
    chore text NOT NULL,
    finished_at timestamptz NOT NULL,
    CONSTRAINT pk_housekeeping_runs PRIMARY KEY (chore)
);

CREATE TABLE imported_jobs (
    source text NOT NULL,
    job_id text NOT NULL,
    snooze_id bigint NOT NULL,
    user_email text NOT NULL,
    due_at timestamptz NOT NULL,
    seen_at timestamptz DEFAULT now() NOT NULL,
    withdrawn_at timestamptz,
    CONSTRAINT pk_imported_jobs PRIMARY KEY (source, job_id)
);
CREATE INDEX ix_imported_jobs_user ON imported_jobs (user_email);

CREATE UNLOGGED TABLE list_changes (
    transaction_id bigint NOT NULL,
    people integer[] NOT NULL
);
CREATE INDEX ix_list_changes_transaction ON list_changes (transaction_id);

CREATE UNLOGGED TABLE list_checkpoints (
    snapshot text NOT NULL,
    taken_at timestamptz DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE mailbox_watchers (
    id text NOT NULL,
    seen_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_mailbox_watchers PRIMARY KEY (id)
);

CREATE TABLE operations (
    id bigserial,
    form uuid NOT NULL,
    act text NOT NULL,
    parameters jsonb DEFAULT '{}' NOT NULL,
    actor text NOT NULL,
    reason text NOT NULL,
    request_id text,
    created_at timestamptz DEFAULT now() NOT NULL,
    members bigint DEFAULT 0 NOT NULL,
    done bigint DEFAULT 0 NOT NULL,
    unchanged bigint DEFAULT 0 NOT NULL,
    failed bigint DEFAULT 0 NOT NULL,
    worked_at timestamptz,
    cancelled_at timestamptz,
    cancelled_by text,
    finished_at timestamptz,
    CONSTRAINT pk_operations PRIMARY KEY (id),
    CONSTRAINT uq_operations_form UNIQUE (form),
    CONSTRAINT ck_operations_cancelled_is_finished CHECK (
        ((cancelled_at IS NULL) = (cancelled_by IS NULL))
        AND ((cancelled_at IS NULL) OR (finished_at IS NOT NULL))
    ),
    CONSTRAINT ck_operations_counts CHECK (
        (done >= 0)
        AND (unchanged >= 0)
        AND (failed >= 0)
        AND (((done + unchanged) + failed) <= members)
    ),
    CONSTRAINT ck_operations_finished_is_whole CHECK (
        (finished_at IS NULL)
        OR (cancelled_at IS NOT NULL)
        OR (((done + unchanged) + failed) = members)
    )
);
CREATE INDEX ix_operations_open ON operations (id) WHERE (finished_at IS NULL);

CREATE TABLE pauses (
    id bigserial,
    kind text NOT NULL,
    value text DEFAULT '' NOT NULL,
    actor text NOT NULL,
    reason text NOT NULL,
    since timestamptz DEFAULT now() NOT NULL,
    until timestamptz,
    ended_at timestamptz,
    ended_by text,
    CONSTRAINT pk_pauses PRIMARY KEY (id),
    CONSTRAINT ck_pauses_channel CHECK ((kind <> 'channel') OR (value IN ('mail', 'push', 'mailbox'))),
    CONSTRAINT ck_pauses_class CHECK ((kind <> 'class') OR (value ~ '^-?[0-9]{1,4}$')),
    CONSTRAINT ck_pauses_end_is_whole CHECK ((ended_at IS NULL) = (ended_by IS NULL)),
    CONSTRAINT ck_pauses_kind CHECK (kind IN ('all', 'person', 'domain', 'channel', 'class', 'invalid')),
    CONSTRAINT ck_pauses_value CHECK ((kind = 'all') = (value = ''))
);
CREATE UNIQUE INDEX uq_pauses_active ON pauses (kind, value) WHERE (ended_at IS NULL);

CREATE TABLE push_keys (
    id bigserial,
    public_key bytea NOT NULL,
    private_key bytea NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_push_keys PRIMARY KEY (id)
);

CREATE TABLE push_sends (
    id bigserial,
    device_id bigint NOT NULL,
    account_id bigint NOT NULL,
    snooze_id bigint NOT NULL,
    scheduled_for timestamptz NOT NULL,
    state text DEFAULT 'reserved' NOT NULL,
    claim_token uuid,
    claimed_until timestamptz,
    attempts integer DEFAULT 0 NOT NULL,
    try_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    created_at timestamptz DEFAULT clock_timestamp() NOT NULL,
    marked_at timestamptz,
    finished_at timestamptz,
    status integer,
    reason text,
    CONSTRAINT pk_push_sends PRIMARY KEY (id),
    CONSTRAINT uq_push_sends_promise UNIQUE (device_id, snooze_id, scheduled_for),
    CONSTRAINT ck_push_sends_claim_is_whole CHECK (num_nulls(claim_token, claimed_until) IN (0, 2)),
    CONSTRAINT ck_push_sends_finished_is_dated CHECK (
        (state IN ('sent', 'failed', 'uncertain')) = (finished_at IS NOT NULL)
    ),
    CONSTRAINT ck_push_sends_sending_is_marked CHECK ((state <> 'sending') OR (marked_at IS NOT NULL)),
    CONSTRAINT ck_push_sends_state CHECK (state IN ('reserved', 'sending', 'sent', 'failed', 'uncertain'))
);
CREATE INDEX ix_push_sends_account ON push_sends (account_id);
CREATE INDEX ix_push_sends_claimed ON push_sends (claimed_until) WHERE (claimed_until IS NOT NULL);
CREATE INDEX ix_push_sends_created ON push_sends (created_at);
CREATE INDEX ix_push_sends_due ON push_sends (try_at, id) WHERE (state = 'reserved');
CREATE INDEX ix_push_sends_open ON push_sends (id) WHERE (state IN ('reserved', 'sending'));

CREATE TABLE queue_minutes (
    seconds integer NOT NULL,
    starts_at timestamptz NOT NULL,
    sent integer NOT NULL,
    retried integer NOT NULL,
    failed integer NOT NULL,
    p50 double precision,
    p99 double precision,
    due integer,
    oldest_due double precision,
    CONSTRAINT pk_queue_minutes PRIMARY KEY (seconds, starts_at),
    CONSTRAINT ck_queue_minutes_seconds CHECK (seconds IN (60, 3600))
);

CREATE UNLOGGED TABLE quota_usage (
    quota text NOT NULL,
    subject text NOT NULL,
    period_start timestamptz NOT NULL,
    amount bigint NOT NULL,
    CONSTRAINT pk_quota_usage PRIMARY KEY (quota, subject, period_start)
);
CREATE INDEX ix_quota_usage_period_start ON quota_usage (period_start);

CREATE TABLE reminder_sends_archive (
    finished_at timestamptz NOT NULL,
    id bigint NOT NULL,
    snooze_id bigint NOT NULL,
    user_email text NOT NULL,
    message_id text NOT NULL,
    scheduled_for timestamptz NOT NULL,
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
    reserved_at timestamptz NOT NULL,
    dot_authorised_at timestamptz,
    uncertain_at timestamptz,
    sent_at timestamptz,
    resolution text,
    resolved_by text,
    resolved_at timestamptz,
    looks smallint NOT NULL,
    looked_at timestamptz,
    refusals smallint NOT NULL,
    delayed_by text,
    locale text,
    late_from timestamptz,
    CONSTRAINT pk_reminder_sends_archive PRIMARY KEY (id, finished_at)
)
PARTITION BY RANGE (finished_at);
CREATE INDEX ix_reminder_sends_archive_promise ON reminder_sends_archive (user_email, message_id, scheduled_for);
CREATE INDEX ix_reminder_sends_archive_snooze ON reminder_sends_archive (snooze_id);

CREATE TABLE server_starts (
    started_at timestamptz NOT NULL,
    met_at timestamptz NOT NULL,
    CONSTRAINT pk_server_starts PRIMARY KEY (started_at)
);

CREATE TABLE shadow_jobs (
    source text NOT NULL,
    job_id text NOT NULL,
    due_at timestamptz NOT NULL,
    user_email text NOT NULL,
    priority smallint DEFAULT 0 NOT NULL,
    serialization_key text,
    noticed_at timestamptz DEFAULT now() NOT NULL,
    seen_at timestamptz DEFAULT now() NOT NULL,
    gone_at timestamptz,
    would_send_at timestamptz,
    sent_at timestamptz[] DEFAULT '{}' NOT NULL,
    CONSTRAINT pk_shadow_jobs PRIMARY KEY (source, job_id, due_at)
);
CREATE INDEX ix_shadow_jobs_due ON shadow_jobs (source, due_at) WHERE ((would_send_at IS NULL) AND (gone_at IS NULL));
CREATE INDEX ix_shadow_jobs_user ON shadow_jobs (user_email);

CREATE TABLE sink_messages (
    id bigserial,
    received_at timestamptz DEFAULT clock_timestamp() NOT NULL,
    mail_from text NOT NULL,
    rcpt_to text NOT NULL,
    original bytea NOT NULL,
    CONSTRAINT pk_sink_messages PRIMARY KEY (id)
);
CREATE INDEX ix_sink_messages_rcpt_to ON sink_messages (rcpt_to, id);

CREATE TABLE snooze_events (
    id bigserial,
    snooze_id bigint NOT NULL,
    at timestamptz DEFAULT clock_timestamp() NOT NULL,
    kind text NOT NULL,
    actor text NOT NULL,
    route text NOT NULL,
    detail jsonb DEFAULT '{}' NOT NULL,
    CONSTRAINT pk_snooze_events PRIMARY KEY (id)
);
CREATE INDEX ix_snooze_events_at ON snooze_events USING brin (at);
CREATE INDEX ix_snooze_events_snooze ON snooze_events (snooze_id, id);

CREATE TABLE webhook_deliveries (
    id bigserial,
    number uuid DEFAULT gen_random_uuid() NOT NULL,
    endpoint_id bigint NOT NULL,
    account_id bigint NOT NULL,
    event text NOT NULL,
    snooze_id bigint,
    repeats boolean DEFAULT false NOT NULL,
    scheduled_for timestamptz,
    remind_at timestamptz,
    reference text,
    subject text,
    occurred_at timestamptz DEFAULT clock_timestamp() NOT NULL,
    state text DEFAULT 'waiting' NOT NULL,
    claim_token uuid,
    claimed_until timestamptz,
    attempts integer DEFAULT 0 NOT NULL,
    try_at timestamptz DEFAULT clock_timestamp() NOT NULL,
    first_tried_at timestamptz,
    tried_at timestamptz,
    finished_at timestamptz,
    status integer,
    reason text,
    answer text,
    answer_ms integer,
    CONSTRAINT pk_webhook_deliveries PRIMARY KEY (id),
    CONSTRAINT uq_webhook_deliveries_number UNIQUE (number),
    CONSTRAINT ck_webhook_deliveries_claim_is_whole CHECK (num_nulls(claim_token, claimed_until) IN (0, 2)),
    CONSTRAINT ck_webhook_deliveries_claimed_waits CHECK ((claim_token IS NULL) OR (state = 'waiting')),
    CONSTRAINT ck_webhook_deliveries_finished_is_dated CHECK ((state = 'waiting') = (finished_at IS NULL)),
    CONSTRAINT ck_webhook_deliveries_state CHECK (state IN ('waiting', 'delivered', 'failed'))
);
CREATE INDEX ix_webhook_deliveries_account ON webhook_deliveries (account_id);
CREATE INDEX ix_webhook_deliveries_claimed ON webhook_deliveries (endpoint_id) WHERE (claim_token IS NOT NULL);
CREATE INDEX ix_webhook_deliveries_endpoint ON webhook_deliveries (endpoint_id, id);
CREATE INDEX ix_webhook_deliveries_occurred ON webhook_deliveries (occurred_at);
CREATE INDEX ix_webhook_deliveries_order ON webhook_deliveries (endpoint_id, snooze_id, id) WHERE (state = 'waiting');
CREATE INDEX ix_webhook_deliveries_try ON webhook_deliveries (try_at) WHERE (state = 'waiting');
CREATE INDEX ix_webhook_deliveries_waiting ON webhook_deliveries (endpoint_id, try_at, id) WHERE (state = 'waiting');
CREATE UNIQUE INDEX uq_webhook_deliveries_due ON webhook_deliveries (endpoint_id, snooze_id, scheduled_for)
    WHERE (event = 'due');

CREATE TABLE workers (
    id text NOT NULL,
    state text DEFAULT 'alive' NOT NULL,
    started_at timestamptz NOT NULL,
    heartbeat_at timestamptz NOT NULL,
    stopped_at timestamptz,
    version text,
    host text,
    batch_size integer,
    concurrency integer,
    CONSTRAINT pk_workers PRIMARY KEY (id),
    CONSTRAINT ck_workers_dead_is_dated CHECK ((state = 'dead') = (stopped_at IS NOT NULL)),
    CONSTRAINT ck_workers_state CHECK (state IN ('alive', 'draining', 'dead'))
) WITH (
    fillfactor = 50
);

CREATE TABLE account_deletions (
    account_id bigint NOT NULL,
    requested_at timestamptz DEFAULT now() NOT NULL,
    due_at timestamptz NOT NULL,
    deliver boolean NOT NULL,
    begun_at timestamptz,
    looked_at timestamptz,
    CONSTRAINT pk_account_deletions PRIMARY KEY (account_id),
    CONSTRAINT fk_account_deletions_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE
);

CREATE TABLE account_identities (
    issuer text NOT NULL,
    subject text NOT NULL,
    account_id bigint NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_account_identities PRIMARY KEY (issuer, subject),
    CONSTRAINT fk_account_identities_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE
);
CREATE INDEX ix_account_identities_account ON account_identities (account_id);

CREATE TABLE account_phrases (
    account_id bigint NOT NULL,
    phrase text NOT NULL,
    used_at timestamptz DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT pk_account_phrases PRIMARY KEY (account_id, phrase),
    CONSTRAINT fk_account_phrases_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE
);
CREATE INDEX ix_account_phrases_used_at ON account_phrases (account_id, used_at);

CREATE TABLE account_presets (
    account_id bigint NOT NULL,
    "position" smallint NOT NULL,
    label text NOT NULL,
    phrase text NOT NULL,
    CONSTRAINT pk_account_presets PRIMARY KEY (account_id, "position"),
    CONSTRAINT fk_account_presets_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE
);

CREATE TABLE api_tokens (
    id bigserial,
    account_id bigint NOT NULL,
    token_hash text NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    revoked_at timestamptz,
    name text DEFAULT '' NOT NULL,
    scopes text[]
        DEFAULT '{snoozes:read,snoozes:write,settings:read,settings:write,mailboxes:read,webhooks:read,webhooks:write}'
        NOT NULL,
    expires_at timestamptz,
    last_used_at timestamptz,
    CONSTRAINT pk_api_tokens PRIMARY KEY (id),
    CONSTRAINT uq_api_tokens_token_hash UNIQUE (token_hash),
    CONSTRAINT fk_api_tokens_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
    CONSTRAINT ck_api_tokens_name CHECK (char_length(name) <= 60),
    CONSTRAINT ck_api_tokens_scopes CHECK (cardinality(scopes) >= 1)
);
CREATE INDEX ix_api_tokens_account ON api_tokens (account_id);

CREATE TABLE bulk_acts (
    account_id bigint NOT NULL,
    id uuid NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    result jsonb DEFAULT '{}' NOT NULL,
    before jsonb DEFAULT '{}' NOT NULL,
    undone_at timestamptz,
    CONSTRAINT pk_bulk_acts PRIMARY KEY (account_id, id),
    CONSTRAINT fk_bulk_acts_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE
);
CREATE INDEX ix_bulk_acts_created_at ON bulk_acts (created_at);

CREATE TABLE case_views (
    id bigserial,
    account_id bigint NOT NULL,
    name text NOT NULL,
    filter jsonb NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_case_views PRIMARY KEY (id),
    CONSTRAINT uq_case_views_name UNIQUE (account_id, name),
    CONSTRAINT fk_case_views_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE
);

CREATE TABLE day_shapes (
    account_id bigint NOT NULL,
    working_days smallint[] DEFAULT '{1,2,3,4,5}' NOT NULL,
    work_from time DEFAULT '09:00:00' NOT NULL,
    work_until time DEFAULT '17:00:00' NOT NULL,
    quiet_from time,
    quiet_until time,
    quiet_until_off time,
    rests_on_days_off boolean DEFAULT false NOT NULL,
    away_from date,
    back_on date,
    rest_from timestamptz,
    rest_until timestamptz,
    rest_reason text,
    known_until timestamptz DEFAULT now() NOT NULL,
    refresh_at timestamptz DEFAULT now() NOT NULL,
    changed boolean DEFAULT true NOT NULL,
    updated_at timestamptz DEFAULT now() NOT NULL,
    gathers_over smallint,
    gathered_until timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_day_shapes PRIMARY KEY (account_id),
    CONSTRAINT fk_day_shapes_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
    CONSTRAINT ck_day_shapes_gathers_over CHECK ((gathers_over >= 3) AND (gathers_over <= 50)),
    CONSTRAINT ck_day_shapes_quiet_hours CHECK (
        (num_nulls(quiet_from, quiet_until) IN (0, 2))
        AND ((quiet_from <> quiet_until) IS NOT FALSE)
        AND ((quiet_until_off IS NULL) OR ((quiet_from IS NOT NULL) AND (quiet_until_off <> quiet_from)))
    ),
    CONSTRAINT ck_day_shapes_rest CHECK (
        (num_nulls(rest_from, rest_until, rest_reason) IN (0, 3))
        AND ((rest_from < rest_until) IS NOT FALSE)
        AND (rest_reason IN ('quiet', 'day off', 'vacation'))
    ),
    CONSTRAINT ck_day_shapes_vacation CHECK (
        ((num_nulls(away_from, back_on) IN (0, 2))
        AND (((back_on > away_from) AND ((back_on - away_from) <= 366)) IS NOT FALSE))
    ),
    CONSTRAINT ck_day_shapes_work CHECK (work_from < work_until),
    CONSTRAINT ck_day_shapes_working_days CHECK (
        (
            working_days <@ ARRAY[
                1::smallint, 2::smallint, 3::smallint, 4::smallint, 5::smallint, 6::smallint, 7::smallint
            ]
        )
        AND (cardinality(working_days) >= 1)
    )
);
CREATE INDEX ix_day_shapes_refresh ON day_shapes (refresh_at);

CREATE TABLE digests (
    id bigserial,
    account_id bigint NOT NULL,
    snooze_id bigint NOT NULL,
    scheduled_for timestamptz NOT NULL,
    gathered_at timestamptz DEFAULT clock_timestamp() NOT NULL,
    settled_at timestamptz,
    CONSTRAINT pk_digests PRIMARY KEY (id),
    CONSTRAINT uq_digests_promise UNIQUE (snooze_id, scheduled_for),
    CONSTRAINT fk_digests_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE
);
CREATE INDEX ix_digests_account ON digests (account_id);
CREATE INDEX ix_digests_gathered ON digests (gathered_at);
CREATE INDEX ix_digests_open ON digests (gathered_at) WHERE (settled_at IS NULL);

CREATE TABLE feeds (
    id bigserial,
    account_id bigint NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    shows_subject boolean DEFAULT true NOT NULL,
    secret_hash text NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    used_at timestamptz,
    CONSTRAINT pk_feeds PRIMARY KEY (id),
    CONSTRAINT uq_feeds_secret_hash UNIQUE (secret_hash),
    CONSTRAINT fk_feeds_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
    CONSTRAINT ck_feeds_kind CHECK (kind IN ('calendar', 'returned'))
);
CREATE INDEX ix_feeds_account ON feeds (account_id);

CREATE TABLE idempotency_keys (
    account_id bigint NOT NULL,
    key text NOT NULL,
    request_sha256 text NOT NULL,
    status smallint NOT NULL,
    body text NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_idempotency_keys PRIMARY KEY (account_id, key),
    CONSTRAINT fk_idempotency_keys_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE
);
CREATE INDEX ix_idempotency_keys_created_at ON idempotency_keys (created_at);

CREATE TABLE imports (
    id bigint GENERATED BY DEFAULT AS IDENTITY,
    account_id bigint NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    presets jsonb DEFAULT '[]' NOT NULL,
    CONSTRAINT pk_imports PRIMARY KEY (id),
    CONSTRAINT uq_imports_account UNIQUE (account_id),
    CONSTRAINT fk_imports_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE
);
CREATE INDEX ix_imports_created ON imports (created_at);

CREATE TABLE mailboxes (
    id bigserial,
    account_id bigint NOT NULL,
    address text NOT NULL,
    host text NOT NULL,
    port integer NOT NULL,
    security text NOT NULL,
    username text NOT NULL,
    secret bytea NOT NULL,
    state text DEFAULT 'active' NOT NULL,
    problem text,
    problem_since timestamptz,
    synced_at timestamptz,
    tried_at timestamptz,
    owner text,
    owned_until timestamptz,
    fence bigint DEFAULT 0 NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    updated_at timestamptz DEFAULT now() NOT NULL,
    replies_uidvalidity bigint,
    replies_uidnext bigint,
    replies_read_at timestamptz,
    login_method text DEFAULT 'password' NOT NULL,
    brings_back text DEFAULT 'both' NOT NULL,
    snooze_flag text,
    snooze_flag_time text,
    flagged_noted_at timestamptz,
    flagged_uidvalidity bigint,
    CONSTRAINT pk_mailboxes PRIMARY KEY (id),
    CONSTRAINT uq_mailboxes_login UNIQUE (account_id, host, username),
    CONSTRAINT fk_mailboxes_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
    CONSTRAINT ck_mailboxes_brings_back CHECK (brings_back IN ('return', 'reminder', 'both')),
    CONSTRAINT ck_mailboxes_flag_has_its_time CHECK (num_nulls(snooze_flag, snooze_flag_time) IN (0, 2)),
    CONSTRAINT ck_mailboxes_flagged_is_whole CHECK (num_nulls(flagged_noted_at, flagged_uidvalidity) IN (0, 2)),
    CONSTRAINT ck_mailboxes_login_method CHECK (login_method IN ('password', 'google', 'microsoft')),
    CONSTRAINT ck_mailboxes_owner_is_whole CHECK (num_nulls(owner, owned_until) IN (0, 2)),
    CONSTRAINT ck_mailboxes_pause_has_a_reason CHECK ((state <> 'paused') OR (problem IS NOT NULL)),
    CONSTRAINT ck_mailboxes_port CHECK ((port >= 1) AND (port <= 65535)),
    CONSTRAINT ck_mailboxes_problem_is_whole CHECK (num_nulls(problem, problem_since) IN (0, 2)),
    CONSTRAINT ck_mailboxes_replies_are_whole CHECK (
        num_nulls(replies_uidvalidity, replies_uidnext, replies_read_at) IN (0, 3)
    ),
    CONSTRAINT ck_mailboxes_security CHECK (security IN ('tls', 'starttls', 'plain')),
    CONSTRAINT ck_mailboxes_snooze_flag CHECK (snooze_flag ~ '^(\\Flagged|[$A-Za-z0-9_-]{1,60})$'),
    CONSTRAINT ck_mailboxes_state CHECK (state IN ('active', 'paused', 'leaving'))
);

CREATE TABLE sessions (
    id bigserial,
    account_id bigint NOT NULL,
    token_hash text NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    seen_at timestamptz DEFAULT now() NOT NULL,
    expires_at timestamptz NOT NULL,
    device text,
    confirmed_at timestamptz,
    CONSTRAINT pk_sessions PRIMARY KEY (id),
    CONSTRAINT uq_sessions_token_hash UNIQUE (token_hash),
    CONSTRAINT fk_sessions_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE
);
CREATE INDEX ix_sessions_account ON sessions (account_id);

CREATE TABLE sign_ins (
    id bigserial,
    account_id bigint,
    token_hash text NOT NULL,
    code_hash text,
    browser_hash text,
    code_tries smallint DEFAULT 0 NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    known_hash text,
    email_hash text,
    CONSTRAINT pk_sign_ins PRIMARY KEY (id),
    CONSTRAINT uq_sign_ins_token_hash UNIQUE (token_hash),
    CONSTRAINT fk_sign_ins_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE
);
CREATE INDEX ix_sign_ins_account ON sign_ins (account_id, created_at);
CREATE INDEX ix_sign_ins_browser ON sign_ins (browser_hash) WHERE (used_at IS NULL);
CREATE INDEX ix_sign_ins_email ON sign_ins (email_hash, created_at);

CREATE TABLE webhook_endpoints (
    id bigserial,
    account_id bigint NOT NULL,
    url text NOT NULL,
    events text[] NOT NULL,
    shows_subject boolean DEFAULT false NOT NULL,
    secret bytea NOT NULL,
    previous_secret bytea,
    previous_until timestamptz,
    is_on boolean DEFAULT true NOT NULL,
    off_reason text,
    off_at timestamptz,
    failures integer DEFAULT 0 NOT NULL,
    quiet_until timestamptz,
    turn_at timestamptz DEFAULT now() NOT NULL,
    answer_ms integer,
    delivered_at timestamptz,
    created_at timestamptz DEFAULT now() NOT NULL,
    notice_at timestamptz,
    CONSTRAINT pk_webhook_endpoints PRIMARY KEY (id),
    CONSTRAINT uq_webhook_endpoints_url UNIQUE (account_id, url),
    CONSTRAINT fk_webhook_endpoints_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
    CONSTRAINT ck_webhook_endpoints_events CHECK (
        (cardinality(events) >= 1)
        AND (events <@ ARRAY['created', 'edited', 'due', 'sent', 'returned', 'done', 'cancelled', 'stuck'])
    ),
    CONSTRAINT ck_webhook_endpoints_off_is_whole CHECK (
        num_nulls(off_reason, off_at) = CASE WHEN is_on THEN 2 ELSE 0 END
    ),
    CONSTRAINT ck_webhook_endpoints_previous_is_whole CHECK (num_nulls(previous_secret, previous_until) IN (0, 2))
);
CREATE INDEX ix_webhook_endpoints_notice ON webhook_endpoints (notice_at) WHERE (notice_at IS NOT NULL);
CREATE INDEX ix_webhook_endpoints_on ON webhook_endpoints (turn_at, id) WHERE is_on;

CREATE TABLE reminder_sends (
    id bigserial,
    snooze_id bigint NOT NULL,
    user_email text NOT NULL,
    message_id text NOT NULL,
    scheduled_for timestamptz NOT NULL,
    channel text DEFAULT 'email' NOT NULL,
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
    reserved_at timestamptz NOT NULL,
    dot_authorised_at timestamptz,
    uncertain_at timestamptz,
    sent_at timestamptz,
    resolution text,
    resolved_by text,
    resolved_at timestamptz,
    looks smallint DEFAULT 0 NOT NULL,
    looked_at timestamptz,
    refusals smallint DEFAULT 0 NOT NULL,
    delayed_by text,
    locale text,
    late_from timestamptz,
    CONSTRAINT pk_reminder_sends PRIMARY KEY (id),
    CONSTRAINT uq_reminder_sends_promise UNIQUE (user_email, message_id, scheduled_for, channel),
    CONSTRAINT uq_reminder_sends_reminder_message_id UNIQUE (reminder_message_id),
    CONSTRAINT fk_reminder_sends_snooze FOREIGN KEY (snooze_id) REFERENCES email_snoozes(id),
    CONSTRAINT ck_reminder_sends_channel CHECK (channel IN ('email', 'mailbox')),
    CONSTRAINT ck_reminder_sends_mail_is_whole CHECK (
        (channel <> 'email')
        OR (num_nulls(reminder_message_id, claim_token) = 0)
    ),
    CONSTRAINT ck_reminder_sends_resolution_is_whole CHECK (num_nulls(resolution, resolved_by, resolved_at) IN (0, 3)),
    CONSTRAINT ck_reminder_sends_sending_is_marked CHECK (
        (state <> 'sending')
        OR ((dot_authorised_at IS NOT NULL) AND (bytes_sha256 IS NOT NULL))
    ),
    CONSTRAINT ck_reminder_sends_sent_is_dated CHECK ((state = 'sent') = (sent_at IS NOT NULL)),
    CONSTRAINT ck_reminder_sends_state CHECK (state IN ('reserved', 'sending', 'sent', 'failed', 'uncertain'))
) WITH (
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.05
);
CREATE INDEX ix_reminder_sends_sent ON reminder_sends (sent_at) WHERE ((state = 'sent') AND (channel = 'email'));
CREATE INDEX ix_reminder_sends_snooze ON reminder_sends (snooze_id);
CREATE INDEX ix_reminder_sends_unsettled ON reminder_sends (state, dot_authorised_at)
    WHERE (state IN ('sending', 'uncertain'));

CREATE TABLE operation_members (
    operation_id bigint NOT NULL,
    snooze_id bigint NOT NULL,
    result text,
    detail text,
    decided_at timestamptz,
    CONSTRAINT pk_operation_members PRIMARY KEY (operation_id, snooze_id),
    CONSTRAINT fk_operation_members_operation FOREIGN KEY (operation_id) REFERENCES operations(id) ON DELETE CASCADE,
    CONSTRAINT ck_operation_members_result CHECK (result IN ('done', 'unchanged', 'failed')),
    CONSTRAINT ck_operation_members_result_is_dated CHECK ((result IS NULL) = (decided_at IS NULL))
);
CREATE INDEX ix_operation_members_open ON operation_members (operation_id, snooze_id) WHERE (result IS NULL);
CREATE INDEX ix_operation_members_result ON operation_members (operation_id, result, snooze_id);

CREATE TABLE push_devices (
    id bigserial,
    account_id bigint NOT NULL,
    key_id bigint NOT NULL,
    name text NOT NULL,
    endpoint text NOT NULL,
    public_key bytea NOT NULL,
    auth_secret bytea NOT NULL,
    shows_subject boolean DEFAULT false NOT NULL,
    problem text,
    failures integer DEFAULT 0 NOT NULL,
    quiet_until timestamptz,
    sent_at timestamptz,
    created_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_push_devices PRIMARY KEY (id),
    CONSTRAINT uq_push_devices_endpoint UNIQUE (endpoint),
    CONSTRAINT fk_push_devices_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
    CONSTRAINT fk_push_devices_key FOREIGN KEY (key_id) REFERENCES push_keys(id),
    CONSTRAINT ck_push_devices_keys CHECK ((octet_length(public_key) = 65) AND (octet_length(auth_secret) = 16))
);
CREATE INDEX ix_push_devices_account ON push_devices (account_id);

CREATE TABLE digest_members (
    digest_id bigint NOT NULL,
    "position" smallint NOT NULL,
    snooze_id bigint NOT NULL,
    scheduled_for timestamptz NOT NULL,
    CONSTRAINT pk_digest_members PRIMARY KEY (digest_id, "position"),
    CONSTRAINT uq_digest_members_promise UNIQUE (snooze_id, scheduled_for),
    CONSTRAINT fk_digest_members_digest FOREIGN KEY (digest_id) REFERENCES digests(id) ON DELETE CASCADE
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
    promised timestamptz,
    recurrence jsonb,
    wall_time timestamp,
    zone text,
    time_kind text,
    reply_policy text,
    reply_scope text,
    made_at timestamptz,
    finished_at timestamptz,
    sends jsonb DEFAULT '[]' NOT NULL,
    at_any_hour boolean DEFAULT false NOT NULL,
    reference text,
    options jsonb DEFAULT '{}' NOT NULL,
    CONSTRAINT pk_import_rows PRIMARY KEY (import_id, line),
    CONSTRAINT fk_import_rows_import FOREIGN KEY (import_id) REFERENCES imports(id) ON DELETE CASCADE,
    CONSTRAINT ck_import_rows_are_whole CHECK (
        (verdict = 'refused')
        OR (num_nulls(state, message_id, promised, made_at) = 0)
    ),
    CONSTRAINT ck_import_rows_refused_has_a_reason CHECK ((verdict = 'refused') = (reason IS NOT NULL)),
    CONSTRAINT ck_import_rows_state CHECK (state IN ('waiting', 'paused', 'sent', 'cancelled')),
    CONSTRAINT ck_import_rows_verdict CHECK (verdict IN ('new', 'same', 'changed', 'refused'))
);

CREATE TABLE mailbox_flagged (
    mailbox_id bigint NOT NULL,
    uid bigint NOT NULL,
    CONSTRAINT pk_mailbox_flagged PRIMARY KEY (mailbox_id, uid),
    CONSTRAINT fk_mailbox_flagged_mailbox FOREIGN KEY (mailbox_id) REFERENCES mailboxes(id) ON DELETE CASCADE
);

CREATE TABLE mailbox_sign_ins (
    state_hash text NOT NULL,
    session_hash text NOT NULL,
    account_id bigint NOT NULL,
    mailbox_id bigint,
    provider text NOT NULL,
    address text NOT NULL,
    verifier bytea NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_mailbox_sign_ins PRIMARY KEY (state_hash),
    CONSTRAINT fk_mailbox_sign_ins_account FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
    CONSTRAINT fk_mailbox_sign_ins_mailbox FOREIGN KEY (mailbox_id) REFERENCES mailboxes(id) ON DELETE CASCADE,
    CONSTRAINT ck_mailbox_sign_ins_provider CHECK (provider IN ('google', 'microsoft'))
);
CREATE INDEX ix_mailbox_sign_ins_account ON mailbox_sign_ins (account_id);
CREATE INDEX ix_mailbox_sign_ins_created ON mailbox_sign_ins (created_at);
CREATE INDEX ix_mailbox_sign_ins_mailbox ON mailbox_sign_ins (mailbox_id);

CREATE TABLE messages (
    id bigserial,
    mailbox_id bigint,
    is_kept boolean GENERATED ALWAYS AS ((mailbox_id IS NULL)) STORED NOT NULL,
    user_email text NOT NULL,
    message_id text NOT NULL,
    thread_ids text,
    folder text NOT NULL,
    size bigint NOT NULL,
    arrived_at timestamptz DEFAULT clock_timestamp() NOT NULL,
    updated_at timestamptz DEFAULT now() NOT NULL,
    returns_at timestamptz,
    snooze_id bigint,
    deferred_until timestamptz,
    sha256 text,
    subject text,
    sender_name text,
    sender_email text,
    sent_at timestamptz,
    snippet text,
    unread boolean,
    returned boolean,
    surfaced_at timestamptz,
    header_id text,
    fingerprint text,
    internal_date timestamptz,
    returns boolean DEFAULT true NOT NULL,
    home text,
    aside text,
    place text,
    wanted text,
    uidvalidity bigint,
    uid bigint,
    missing_since timestamptz,
    moving_to text,
    target_folder text,
    target_uidvalidity bigint,
    target_uidnext bigint,
    CONSTRAINT pk_messages PRIMARY KEY (id),
    CONSTRAINT fk_messages_mailbox FOREIGN KEY (mailbox_id) REFERENCES mailboxes(id) ON DELETE CASCADE,
    CONSTRAINT ck_messages_aside_has_its_folder CHECK (
        (aside IS NOT NULL)
        OR (('aside' <> place) AND ('aside' <> wanted))
    ),
    CONSTRAINT ck_messages_connected_is_whole CHECK (
        is_kept
        OR (num_nulls(fingerprint, internal_date, home, place, wanted, uidvalidity, uid) = 0)
    ),
    CONSTRAINT ck_messages_folder CHECK ((NOT is_kept) OR (folder IN ('inbox', 'snoozed', 'done', 'reminders'))),
    CONSTRAINT ck_messages_intent_is_whole CHECK (
        num_nulls(moving_to, target_folder, target_uidvalidity, target_uidnext) IN (0, 4)
    ),
    CONSTRAINT ck_messages_kept_is_whole CHECK (
        (NOT is_kept)
        OR (num_nulls(sha256, unread, returned, surfaced_at) = 0)
    ),
    CONSTRAINT ck_messages_missing_has_its_time CHECK ((place = 'missing') = (missing_since IS NOT NULL)),
    CONSTRAINT ck_messages_moving_to CHECK (moving_to IN ('home', 'snoozed', 'aside')),
    CONSTRAINT ck_messages_place CHECK (place IN ('home', 'snoozed', 'aside', 'missing')),
    CONSTRAINT ck_messages_return_is_whole CHECK (num_nulls(returns_at, snooze_id) IN (0, 2)),
    CONSTRAINT ck_messages_wanted CHECK (wanted IN ('home', 'snoozed', 'aside')),
    CONSTRAINT ck_messages_what_stays_has_no_return CHECK (returns OR (returns_at IS NULL))
);
CREATE INDEX ix_messages_asleep ON messages
    (user_email, COALESCE(GREATEST(returns_at, deferred_until), surfaced_at), id)
    WHERE (is_kept
        AND (folder = 'snoozed'));
CREATE INDEX ix_messages_back ON messages (user_email, surfaced_at, id)
    WHERE (is_kept AND returned AND unread AND (folder = 'inbox'));
CREATE INDEX ix_messages_folder ON messages (user_email, folder, surfaced_at, id) INCLUDE (unread) WHERE is_kept;
CREATE INDEX ix_messages_returns ON messages (is_kept, GREATEST(returns_at, deferred_until))
    WHERE (returns_at IS NOT NULL);
CREATE INDEX ix_messages_sha256 ON messages (user_email, sha256) WHERE is_kept;
CREATE INDEX ix_messages_without_snippet ON messages (id) WHERE (is_kept AND (snippet IS NULL));
CREATE INDEX ix_messages_work ON messages (mailbox_id) WHERE ((wanted <> place) OR (moving_to IS NOT NULL));
CREATE UNIQUE INDEX uq_messages_message ON messages (user_email, message_id, is_kept DESC);
CREATE UNIQUE INDEX uq_messages_uid ON messages (mailbox_id, folder, uidvalidity, uid) WHERE (mailbox_id IS NOT NULL);

CREATE TABLE message_originals (
    id bigint NOT NULL,
    original bytea NOT NULL,
    CONSTRAINT pk_message_originals PRIMARY KEY (id),
    CONSTRAINT fk_message_originals_message FOREIGN KEY (id) REFERENCES messages(id) ON DELETE CASCADE
);
