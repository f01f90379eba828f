-- Another time of return makes the deferral of a message void.
CREATE OR REPLACE FUNCTION messages_forget_deferral() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    NEW.deferred_until := NULL;
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER messages_forget_deferral
    BEFORE UPDATE ON messages
    FOR EACH ROW
    WHEN (OLD.deferred_until IS NOT NULL AND NEW.returns_at IS DISTINCT FROM OLD.returns_at)
    EXECUTE FUNCTION messages_forget_deferral();
