-- The class and the hash of a failure's text; cases with the same one are a group.
CREATE OR REPLACE FUNCTION snooze_error_fingerprint(error text) RETURNS text
    LANGUAGE sql
    IMMUTABLE PARALLEL SAFE
RETURN snooze_error_class(error) || substr(md5(snooze_error_text(error)), 2);
