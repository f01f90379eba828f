-- The text of a failure without addresses, numbers and ids, so that the same failures have the same text.
CREATE OR REPLACE FUNCTION snooze_error_text(error text) RETURNS text
    LANGUAGE plpgsql
    IMMUTABLE PARALLEL SAFE COST 500
    AS $$
DECLARE
    words TEXT := left(COALESCE(NULLIF(error, ''), 'No error was written down'), 500);
    code TEXT := COALESCE(
        substring(
            words COLLATE "C"
            FROM '^(?:[^0-9@]*(?:: |with ))?[45][0-9][0-9](?: [245]\.[0-9]+\.[0-9]+)?(?![0-9A-Za-z.@_])'
        ),
        ''
    );
BEGIN
    RETURN code || regexp_replace(
        substr(words, length(code) + 1) COLLATE "C",
        '[^][\s<>(),;="'']*[0-9@][^][\s<>(),;="'']*',
        '…',
        'g'
    );
END
$$;
