-- Refuse every change of the audit log but an insert.
CREATE OR REPLACE FUNCTION audit_log_refuse() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'the audit log is only appended to' USING ERRCODE = 'insufficient_privilege';
END
$$;

CREATE OR REPLACE TRIGGER audit_log_keep
    BEFORE DELETE OR UPDATE OR TRUNCATE ON audit_log
    FOR EACH STATEMENT
    EXECUTE FUNCTION audit_log_refuse();
