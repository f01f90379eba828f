-- The bucket of a person, 0 to 1023, by which workers share the queue.
CREATE OR REPLACE FUNCTION snooze_bucket(user_email text) RETURNS smallint
    LANGUAGE sql
    IMMUTABLE PARALLEL SAFE STRICT
    AS $$ SELECT (('x' || substr(md5(user_email), 1, 8))::bit(32)::bigint % 1024)::smallint $$;
