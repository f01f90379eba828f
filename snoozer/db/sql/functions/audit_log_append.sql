-- Give an entry of the audit log the next id, the time and the hash that chains it to the entry before; one at a time.
CREATE OR REPLACE FUNCTION audit_log_append() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
    AS $$
DECLARE
    last audit_log;
BEGIN
    PERFORM pg_advisory_xact_lock(7266837049);
    SELECT * INTO last FROM audit_log ORDER BY id DESC LIMIT 1;
    NEW.id := COALESCE(last.id, 0) + 1;
    NEW.at := GREATEST(clock_timestamp(), last.at);
    NEW.hash := audit_log_hash(last.hash, NEW);
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER audit_log_append
    BEFORE INSERT ON audit_log
    FOR EACH ROW
    EXECUTE FUNCTION audit_log_append();
