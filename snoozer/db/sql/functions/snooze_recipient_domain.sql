-- The domain of an address, in lower case.
CREATE OR REPLACE FUNCTION snooze_recipient_domain(email text) RETURNS text
    LANGUAGE sql
    IMMUTABLE PARALLEL SAFE
RETURN lower(split_part(email, '@', -1));
