-- Tables by dead rows: how many autovacuum lets be there, when it last came, and how large table and indexes are.
SELECT
    stat.relname AS table_name,
    stat.n_live_tup AS live_rows,
    stat.n_dead_tup AS dead_rows,
    CAST(limits.threshold + limits.factor * GREATEST(class.reltuples, 0) AS bigint) AS vacuumed_at,
    limits.enabled AS autovacuum,
    GREATEST(stat.last_autovacuum, stat.last_vacuum) AS last_vacuum,
    GREATEST(stat.last_autoanalyze, stat.last_analyze) AS last_analyze,
    pg_size_pretty(pg_table_size(stat.relid)) AS size,
    pg_size_pretty(pg_indexes_size(stat.relid)) AS indexes,
    CASE WHEN class.relkind = 'r' THEN age(class.relfrozenxid) ELSE 0 END AS transactions_unfrozen
FROM pg_stat_user_tables AS stat
JOIN pg_class AS class ON class.oid = stat.relid
CROSS JOIN LATERAL (
    SELECT
        COALESCE(
            max(option_value) FILTER (WHERE option_name = 'autovacuum_vacuum_threshold'),
            current_setting('autovacuum_vacuum_threshold')
        )::double precision AS threshold,
        COALESCE(
            max(option_value) FILTER (WHERE option_name = 'autovacuum_vacuum_scale_factor'),
            current_setting('autovacuum_vacuum_scale_factor')
        )::double precision AS factor,
        current_setting('autovacuum')::boolean AND COALESCE(
            max(option_value) FILTER (WHERE option_name = 'autovacuum_enabled'), 'true'
        )::boolean AS enabled
    FROM pg_options_to_table(class.reloptions)
) AS limits
WHERE stat.schemaname = current_schema()
ORDER BY stat.n_dead_tup DESC, pg_total_relation_size(stat.relid) DESC, stat.relname
LIMIT 100
