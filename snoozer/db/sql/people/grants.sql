-- name: find_role
-- A role by its name, and whether it may do all that the owner of the tables may.
WITH tables (owner) AS (
    SELECT relowner FROM pg_class WHERE oid = to_regclass('audit_log')
)
SELECT
    rolname AS name,
    pg_has_role(rolname, (SELECT owner FROM tables), 'MEMBER') AS is_owner
FROM pg_roles
WHERE rolname = COALESCE(CAST(:role AS text), current_user)

-- name: granted_roles
-- The roles that a grant was made for: roles that may append to the audit log, and do not own it.
SELECT DISTINCT pg_roles.rolname AS name
FROM pg_class
CROSS JOIN LATERAL aclexplode(pg_class.relacl) AS entry
JOIN pg_roles ON pg_roles.oid = entry.grantee
WHERE pg_class.oid = to_regclass('audit_log')
  AND entry.privilege_type = 'INSERT'
  AND NOT pg_has_role(pg_roles.oid, pg_class.relowner, 'MEMBER')
ORDER BY name

-- name: statements
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
