-- Declare that this statement keeps WHAT (`promise` or `clock`) although it changes remind_at.
CREATE OR REPLACE FUNCTION snooze_keeps(what text) RETURNS boolean
    LANGUAGE sql
    AS $$
    SELECT set_config('snoozer.keeps', concat_ws(' ', what, CAST(statement_timestamp() AS text)), TRUE) <> ''
$$;
