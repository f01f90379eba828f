-- The class of a failure, a letter by which cases are ordered.
CREATE OR REPLACE FUNCTION snooze_error_class(error text) RETURNS text
    LANGUAGE sql
    IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN error LIKE 'It may have been sent%' THEN 'a'
    WHEN error LIKE 'The worker that held it was lost%' OR error LIKE 'The delivery broke down%' THEN 'b'
    ELSE COALESCE(
        substring(left(error, 500) COLLATE "C" FROM '^(?:[^0-9@]*(?:: |with ))?([45])[0-9][0-9](?![0-9A-Za-z.@_])'),
        '0'
    )
END;
