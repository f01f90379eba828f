-- Whether operators accepted this database last, as far as the role may see its identity.
CREATE OR REPLACE FUNCTION snooze_timeline_is_accepted() RETURNS boolean
    LANGUAGE plpgsql
    STABLE
    AS $$
DECLARE
    accepted accepted_timelines;
    present RECORD;
BEGIN
    SELECT * INTO accepted FROM accepted_timelines ORDER BY id DESC LIMIT 1;
    present := snooze_timeline();
    RETURN (present.system_identifier <> accepted.system_identifier) IS NOT TRUE
        AND (present.database_oid <> accepted.database_oid) IS NOT TRUE
        AND (present.timeline <> accepted.timeline) IS NOT TRUE;
END
$$;
