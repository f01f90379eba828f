-- A role by its name, and whether it may do all that the owner of the tables may.
WITH tables (owner) AS (
    SELECT relowner FROM pg_class WHERE oid = to_regclass('audit_log')
)
SELECT
    rolname AS name,
    pg_has_role(rolname, (SELECT owner FROM tables), 'MEMBER') AS is_owner
FROM pg_roles
WHERE rolname = COALESCE(CAST(:role AS text), current_user)
