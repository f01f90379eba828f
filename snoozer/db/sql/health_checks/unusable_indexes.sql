-- Required indexes that are missing, or invalid, as after a failed CREATE INDEX CONCURRENTLY; and required unique
-- indexes that are not unique.
SELECT
    wanted.table_name,
    wanted.name,
    CASE
        WHEN found.indexrelid IS NULL THEN 'missing'
        WHEN NOT (found.indisvalid AND found.indisready AND found.indislive) THEN 'invalid'
        ELSE 'not unique'
    END AS problem
FROM unnest(
    CAST(:tables AS text[]), CAST(:names AS text[]), CAST(:uniques AS boolean[])
) AS wanted (table_name, name, is_unique)
LEFT JOIN pg_index AS found ON found.indexrelid = to_regclass(wanted.name)
WHERE (found.indisvalid AND found.indisready AND found.indislive AND found.indisunique >= wanted.is_unique) IS NOT TRUE
ORDER BY wanted.name
