-- The newest entry of the audit log and its hash, which covers all entries before it.
SELECT id, hash
FROM audit_log
ORDER BY id DESC
LIMIT 1
