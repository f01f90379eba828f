-- name: present
-- A hash of the server's text for each of these functions and views with their triggers, by name.
SELECT name, md5(string_agg(text, chr(10) ORDER BY text)) AS digest
FROM (
    SELECT proname AS name, pg_get_functiondef(oid) AS text
    FROM pg_proc
    WHERE pronamespace = to_regnamespace(quote_ident(current_schema()))
      AND proname = ANY(CAST(:names AS text[]))
    UNION ALL
    SELECT relname, pg_get_viewdef(oid)
    FROM pg_class
    WHERE relnamespace = to_regnamespace(quote_ident(current_schema()))
      AND relkind = 'v'
      AND relname = ANY(CAST(:names AS text[]))
    UNION ALL
    SELECT
        CASE WHEN pg_class.relkind = 'v' THEN relname ELSE proname END,
        concat_ws(' ', pg_get_triggerdef(pg_trigger.oid), tgenabled)
    FROM pg_trigger
    JOIN pg_class ON pg_class.oid = tgrelid
    JOIN pg_proc ON pg_proc.oid = tgfoid
    WHERE NOT tgisinternal
      AND relnamespace = to_regnamespace(quote_ident(current_schema()))
      AND CASE WHEN pg_class.relkind = 'v' THEN relname ELSE proname END = ANY(CAST(:names AS text[]))
) AS found
GROUP BY name

-- name: prepare
-- Until the transaction ends, functions may name what is created after them, and those with a search_path of their own
-- get the schema of the tables.
SELECT
    set_config('check_function_bodies', 'off', TRUE),
    set_config('search_path', quote_ident(current_schema()) || ', pg_temp', TRUE)

-- name: lock
-- The strongest lock first: a lock that is upgraded later deadlocks with a claim.
LOCK TABLE email_snoozes IN ACCESS EXCLUSIVE MODE

-- name: list_recorded
-- The hash of the file that each definition was made from, and of the server's text for it.
SELECT name, source, present
FROM definitions

-- name: record
-- Record the hashes of definitions that were made now.
INSERT INTO definitions (name, source, present)
SELECT * FROM unnest(CAST(:names AS text[]), CAST(:sources AS text[]), CAST(:present AS text[]))
ON CONFLICT (name) DO UPDATE
SET source = EXCLUDED.source, present = EXCLUDED.present

-- name: forget
-- Forget definitions that this release does not have.
DELETE FROM definitions
WHERE name = ANY(CAST(:names AS text[]))
