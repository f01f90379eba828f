-- A setting of this transaction in seconds, or OTHERWISE.
CREATE OR REPLACE FUNCTION snooze_term(name text, otherwise double precision) RETURNS interval
    LANGUAGE sql
    STABLE
    AS $$
    SELECT make_interval(secs => COALESCE(NULLIF(current_setting('snoozer.' || name, TRUE), '')::float8, otherwise))
$$;
