-- The roles that a grant was made for: roles that may append to the audit log, and do not own it.
SELECT DISTINCT pg_roles.rolname AS name
FROM pg_class
CROSS JOIN LATERAL aclexplode(pg_class.relacl) AS entry
JOIN pg_roles ON pg_roles.oid = entry.grantee
WHERE pg_class.oid = to_regclass('audit_log')
  AND entry.privilege_type = 'INSERT'
  AND NOT pg_has_role(pg_roles.oid, pg_class.relowner, 'MEMBER')
ORDER BY name
