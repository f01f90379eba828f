-- The statements that grant a role these rights on tables, their sequences, the views that read them and functions of
-- the archive, and revoke further rights from the role and from PUBLIC. The owner must execute them in order.
WITH granted (name, rights) AS (
    SELECT * FROM unnest(CAST(:tables AS text[]), CAST(:rights AS text[]))
),
place (name, is_own) AS (
    SELECT nspname, pg_has_role(nspowner, 'USAGE') FROM pg_namespace WHERE nspname = current_schema()
),
statement (position, text) AS (
    SELECT 1, format('REVOKE CREATE ON SCHEMA %I FROM PUBLIC, %I', name, CAST(:role AS text))
    FROM place
    WHERE is_own
    UNION ALL
    SELECT 2, format('GRANT USAGE ON SCHEMA %I TO %I', name, CAST(:role AS text))
    FROM place
    UNION ALL
    SELECT 3, format('REVOKE ALL ON TABLE %I FROM %I', name, CAST(:role AS text))
    FROM granted
    UNION ALL
    SELECT 4, format('GRANT %s ON TABLE %I TO %I', rights, name, CAST(:role AS text))
    FROM granted
    UNION ALL
    SELECT 5, format('GRANT USAGE ON SEQUENCE %s TO %I', pg_depend.objid::regclass, CAST(:role AS text))
    FROM granted
    JOIN pg_depend ON pg_depend.refobjid = to_regclass(quote_ident(granted.name)) AND pg_depend.deptype IN ('a', 'i')
    JOIN pg_class ON pg_class.oid = pg_depend.objid AND pg_class.relkind = 'S'
    UNION ALL
    SELECT DISTINCT 6, format('GRANT SELECT ON TABLE %s TO %I', pg_rewrite.ev_class::regclass, CAST(:role AS text))
    FROM granted
    JOIN pg_depend ON pg_depend.refobjid = to_regclass(quote_ident(granted.name))
    JOIN pg_rewrite ON pg_rewrite.oid = pg_depend.objid
    JOIN pg_class ON pg_class.oid = pg_rewrite.ev_class AND pg_class.relkind = 'v'
    WHERE pg_depend.classid = 'pg_rewrite'::regclass
    UNION ALL
    SELECT 7, format('GRANT EXECUTE ON FUNCTION %s TO %I', pg_proc.oid::regprocedure, CAST(:role AS text))
    FROM pg_proc
    JOIN place ON place.name = pg_proc.pronamespace::regnamespace::text
    WHERE pg_proc.proname IN ('snooze_archive_prepare', 'snooze_archive_expire')
)
SELECT text
FROM statement
ORDER BY position, text
