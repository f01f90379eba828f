-- Another zone of a person makes their hours of rest void, until the clock computes them again.
CREATE OR REPLACE FUNCTION accounts_move_day() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE day_shapes
    SET known_until = to_timestamp(0),
        refresh_at = to_timestamp(0),
        changed = TRUE
    WHERE account_id = NEW.id;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER accounts_move_day
    AFTER UPDATE ON accounts
    FOR EACH ROW
    WHEN (NEW.zone <> OLD.zone)
    EXECUTE FUNCTION accounts_move_day();
