-- The hash of one entry of the audit log.
SELECT hash
FROM audit_log
WHERE id = :id
