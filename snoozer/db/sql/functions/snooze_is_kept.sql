-- Whether this statement declared by snooze_keeps that it keeps WHAT.
CREATE OR REPLACE FUNCTION snooze_is_kept(what text) RETURNS boolean
    LANGUAGE sql
    STABLE
    AS $$
    SELECT COALESCE(
        current_setting('snoozer.keeps', TRUE) = concat_ws(' ', what, CAST(statement_timestamp() AS text)), FALSE
    )
$$;
