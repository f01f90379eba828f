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

-- name: lock_holder
-- The oldest transaction of another session that holds a lock on a table of this schema.
SELECT
    activity.pid,
    activity.application_name AS program,
    CAST(extract(epoch FROM clock_timestamp() - activity.xact_start) AS float8) AS seconds
FROM pg_stat_activity AS activity
WHERE activity.datname = current_database()
  AND activity.pid <> pg_backend_pid()
  AND activity.xact_start IS NOT NULL
  AND EXISTS (
      SELECT 1
      FROM pg_locks AS held
      JOIN pg_class ON pg_class.oid = held.relation
      WHERE held.pid = activity.pid
        AND held.granted
        AND pg_class.relkind IN ('r', 'p')
        AND pg_class.relnamespace = to_regnamespace(quote_ident(current_schema()))
  )
ORDER BY activity.xact_start
LIMIT 1

-- name: lock_timeout
-- Limit how long a statement of this transaction, or of this savepoint, waits for a lock.
SELECT set_config('lock_timeout', :lock_timeout, TRUE)

-- name: own_limits
-- Give the statements of this session more time, and no limit for waits that hold up no other. A session of a pooler has
-- no limits of its own, and gets none here, because others use it next.
SELECT
    set_config('statement_timeout', :statement_timeout, FALSE),
    set_config('lock_timeout', '0', FALSE)
WHERE current_setting('statement_timeout') <> '0'

-- name: ping
-- Check that the session is alive.
SELECT

-- name: relations
-- The tables of this schema and their indexes: of each the table, with its rows and bytes as far as they are known.
SELECT
    relation.relname AS name,
    tables.relname AS table,
    CAST(GREATEST(tables.reltuples, pg_stat_get_live_tuples(tables.oid), 0) AS bigint) AS rows,
    pg_table_size(tables.oid) AS bytes
FROM pg_class AS relation
LEFT JOIN pg_index ON pg_index.indexrelid = relation.oid
JOIN pg_class AS tables ON tables.oid = COALESCE(pg_index.indrelid, relation.oid)
WHERE relation.relkind IN ('r', 'p', 'i', 'I')
  AND relation.relnamespace = to_regnamespace(quote_ident(current_schema()))

-- name: schema_version
-- The revision of the newest migration that was applied; no row before the first one.
SELECT version_num FROM alembic_version

-- name: unusable_index
-- The statement that drops the index of this name, if it was not made to its end.
SELECT format('DROP INDEX CONCURRENTLY %I', relname)
FROM pg_class
JOIN pg_index ON indexrelid = pg_class.oid
WHERE relname = :index
  AND relnamespace = to_regnamespace(quote_ident(current_schema()))
  AND NOT indisvalid
