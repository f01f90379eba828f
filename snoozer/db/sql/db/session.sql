-- name: discard_plans
-- Replan this session's prepared statements at their next use, for the tables as they are by then.
DISCARD PLANS

-- name: has_schema_version
-- Whether the database holds the version of a schema: Alembic makes its table before the first migration.
SELECT to_regclass('alembic_version') IS NOT NULL

-- name: is_writable
-- Whether this session's server accepts writes; a primary that was demoted while it keeps running does not.
SELECT current_setting('transaction_read_only') = 'off' AS takes_writes

-- name: limits
-- Limit how long a statement of this transaction may take, and how long the transaction may be idle.
-- Both hold for the rest of the transaction.
SELECT
    set_config('statement_timeout', :statement_timeout, TRUE),
    set_config('idle_in_transaction_session_timeout', :idle_in_transaction_session_timeout, TRUE)

-- name: listen
-- Subscribe to notifications of new rows that are due within two seconds.
LISTEN snooze_due

-- name: ping
-- Check that the session is alive.
SELECT

-- name: schema_version
-- The revision of the newest migration that was applied; no row before the first one.
SELECT version_num FROM alembic_version
