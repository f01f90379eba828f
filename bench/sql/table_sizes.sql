-- How many rows (about) and bytes the queue, the ledger and their archives have, partitions together.
SELECT
    kind.name,
    sum(CASE WHEN part.reltuples > 0 THEN part.reltuples ELSE 0 END)::bigint AS rows,
    sum(pg_table_size(part.oid))::bigint AS table_bytes,
    sum(pg_indexes_size(part.oid))::bigint AS index_bytes
FROM unnest(
    ARRAY['email_snoozes', 'reminder_sends', 'email_snoozes_archive', 'reminder_sends_archive']
) WITH ORDINALITY AS kind (name, place)
JOIN pg_class AS part ON part.oid IN (
    SELECT kind.name::regclass
    UNION ALL
    SELECT inhrelid FROM pg_inherits WHERE inhparent = kind.name::regclass
)
WHERE part.relkind = 'r'
GROUP BY kind.name, kind.place
ORDER BY kind.place
