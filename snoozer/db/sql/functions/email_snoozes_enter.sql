-- A new snooze gets its bucket and its place behind its key, and is refused with a clear error if it makes no sense.
CREATE OR REPLACE FUNCTION email_snoozes_enter() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    refused TEXT;
    because TEXT;
BEGIN
    NEW.bucket := COALESCE(NEW.bucket, snooze_bucket(NEW.user_email));
    IF octet_length(NEW.user_email) > 254
        OR octet_length(NEW.message_id) > 998
        OR octet_length(NEW.serialization_key) > 998
    THEN
        refused := 'ck_email_snoozes_texts_fit';
        because := format(
            'Octets: user_email %s (254 at most), message_id %s (998), serialization_key %s (998).',
            octet_length(NEW.user_email), octet_length(NEW.message_id), COALESCE(octet_length(NEW.serialization_key), 0)
        );
    ELSIF NEW.wall_time < '1969-12-31'
        OR NEW.wall_time > '9999-01-02'
        OR jsonb_typeof(NEW.recurrence) NOT IN ('object', 'null')
    THEN
        refused := 'ck_email_snoozes_make_sense';
        because := 'wall_time lies between 1970 and 9999, and recurrence is a JSON object or null.';
    END IF;
    IF refused IS NOT NULL THEN
        RAISE EXCEPTION 'new row for relation "email_snoozes" violates check constraint "%"', refused
            USING ERRCODE = 'check_violation',
                SCHEMA = TG_TABLE_SCHEMA,
                TABLE = TG_TABLE_NAME,
                CONSTRAINT = refused,
                DETAIL = because;
    END IF;
    IF NEW.serialization_key IS NOT NULL AND NOT NEW.inactive AND NEW.claimed_at IS NULL THEN
        NEW.behind_key := EXISTS (
            SELECT 1
            FROM email_snoozes AS ahead
            WHERE ahead.serialization_key = NEW.serialization_key
              AND NOT ahead.inactive
              AND ahead.claimed_at IS NULL
              AND ahead.attempts < ahead.max_attempts
              AND (ahead.remind_at, ahead.id) < (NEW.remind_at, NEW.id)
            OFFSET 3
        );
    END IF;
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER email_snoozes_enter
    BEFORE INSERT ON email_snoozes
    FOR EACH ROW
    EXECUTE FUNCTION email_snoozes_enter();
