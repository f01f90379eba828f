-- Holders of old snapshots, which keep vacuum from removing dead rows: sessions, prepared transactions, slots, standbys.
-- The longest held comes first. Only a member of pg_monitor sees all sessions of other roles.
SELECT
    'session' AS kind,
    CAST(pid AS text) AS name,
    COALESCE(NULLIF(application_name, ''), 'without a name') AS application,
    state,
    clock_timestamp() - xact_start AS held,
    GREATEST(age(backend_xmin), age(backend_xid)) AS transactions,
    format('SELECT pg_terminate_backend(%s)', pid) AS ends_with
FROM pg_stat_activity
WHERE (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)
  AND backend_type = 'client backend'
  AND datname = current_database()
  AND pid <> pg_backend_pid()
UNION ALL
SELECT
    'prepared transaction',
    gid,
    owner,
    'prepared',
    clock_timestamp() - prepared,
    age(transaction),
    format('ROLLBACK PREPARED %L', gid)
FROM pg_prepared_xacts
WHERE database = current_database()
UNION ALL
SELECT
    'replication slot',
    slot_name,
    slot_type,
    CASE WHEN active THEN 'active' ELSE 'not used' END,
    NULL,
    GREATEST(age(xmin), age(catalog_xmin)),
    format('SELECT pg_drop_replication_slot(%L)', slot_name)
FROM pg_replication_slots
WHERE NOT active
   OR xmin IS NOT NULL
   OR catalog_xmin IS NOT NULL
UNION ALL
SELECT
    'standby',
    CAST(pid AS text),
    COALESCE(NULLIF(application_name, ''), 'without a name'),
    state,
    NULL,
    age(backend_xmin),
    'hot_standby_feedback = off, on the standby'
FROM pg_stat_replication
WHERE backend_xmin IS NOT NULL
ORDER BY held DESC NULLS LAST, transactions DESC NULLS LAST
LIMIT 30
